"""Domains of people's own that lead to machines: `www.example.org` to a default route, names below it to named ones.

Whoever comes first has a domain, and all names above and below it are theirs: nobody can take `api.example.org`
from the owner of `example.org`. A change is on record first, then the gates follow.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence

from openboxd.control.ports import ControlStore
from openboxd.control.routes import Routes
from openboxd.errors import AlreadyExists, InvalidArgument, NotFound
from openboxd.model import CustomDomain, CustomDomainView, Machine
from openboxd.ports import Ways

MAX_LENGTH = 100
"""Characters of a domain: it names a socket, and the address of one holds no more."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+(?!\d+$){_LABEL}")


def check_domain(domain: str, zone: str) -> None:
    """Raises InvalidArgument unless it can be somebody's own domain on a host with this zone."""
    if not _DOMAIN.fullmatch(domain) or len(domain) > MAX_LENGTH:
        raise InvalidArgument(
            f"a domain has at most {MAX_LENGTH} characters: two or more labels of a-z 0-9 - with dots between them, "
            "such as www.example.org (others in their xn-- form)"
        )
    if domain == zone or domain.endswith(f".{zone}"):
        raise InvalidArgument(f"'{domain}' belongs to this host's own zone {zone}; name a machine or a route instead")


class Domains:
    """The domains of machines. Callers have found out who may.

    Args:
        settled: domains that the daemon's settings lead elsewhere.
    """

    def __init__(
        self, store: ControlStore, ways: Ways, routes: Routes, zone: str, settled: Collection[str] = ()
    ) -> None:
        self._store, self._ways, self._routes = store, ways, routes
        self._zone, self._settled = zone, settled
        self._changing = asyncio.Lock()  # a change looks, then writes

    def view(self, machine: Machine, domain: str) -> CustomDomainView:
        """A domain of a machine as it stands now."""
        return CustomDomainView(domain, machine, self._ways.domain_problem(domain))

    def listed(self, machine: Machine) -> Sequence[CustomDomainView]:
        """A machine's domains, by name."""
        return [self.view(machine, row.domain) for row in self._store.custom_domains(machine.id)]

    async def add(self, machine: Machine, domain: str) -> CustomDomainView:
        """Lead a domain to a machine; harmless if it does. Raises InvalidArgument, AlreadyExists."""
        check_domain(domain, self._zone)
        async with self._changing:
            known = {row.domain: row.machine_id for row in self._store.custom_domains()}
            if known.get(domain) == machine.id:
                return self.view(machine, domain)
            self._check_free(machine, domain, known)
            await self._store.add_custom_domain(CustomDomain(domain, machine.id))
        await self._arrange_around(machine, domain, above_first=True)
        return self.view(machine, domain)

    async def remove(self, machine: Machine, domain: str) -> None:
        """Lead a machine's domain nowhere. Raises NotFound."""
        async with self._changing:
            if domain not in {row.domain for row in self._store.custom_domains(machine.id)}:
                raise NotFound(f"domain '{domain}' not found")
            await self._store.delete_custom_domain(domain)
        await self._arrange_around(machine, domain, above_first=False)

    def _check_free(self, machine: Machine, domain: str, known: dict[str, str]) -> None:
        if domain in known or domain in self._settled:
            raise AlreadyExists(f"domain '{domain}' leads to another machine already; it was not changed")
        for other, machine_id in known.items():
            if not (domain.endswith(f".{other}") or other.endswith(f".{domain}")):
                continue
            owner = self._store.machine(machine_id)
            if owner is not None and owner.owner_id != machine.owner_id:
                raise AlreadyExists(
                    f"domain '{domain}' belongs to somebody who has another name of it; choose another"
                )

    async def _arrange_around(self, machine: Machine, domain: str, *, above_first: bool) -> None:
        """Let the gates follow, also those of the machine to which the domain led as a name below its own."""
        above = domain.partition(".")[2]
        ids = [row.machine_id for row in self._store.custom_domains() if row.domain == above]
        others = [found for each in ids if (found := self._store.machine(each)) is not None]
        for each in [*others, machine] if above_first else [machine, *others]:
            await self._routes.arrange(each)
