"""What machines on the bridge may reach: the policy in force, and what is learned by their questions for names."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from openboxd.model import Machine
from openboxd.network import rules
from openboxd.network.addresses import RESOLVER
from openboxd.network.chains import NAMES_PORT
from openboxd.network.commands import nft, nft_json
from openboxd.network.policy import NOTHING, Policy, matches, policy_for
from openboxd.network.resolver import Resolver

MOST_LEARNED = 1024
"""Addresses that one machine is let to by names; the oldest make room for others."""

Machines = Callable[[], Sequence[Machine]]
"""All machines that there are."""

log = logging.getLogger(__name__)


def nobody() -> Sequence[Machine]:
    """A host without machines."""
    return ()


class Permissions:
    """Keeps the sets of the rules as the machines are."""

    def __init__(self, names: rules.Names, upstream: str, machines: Machines) -> None:
        self._names, self._machines = names, machines
        self._policy = NOTHING
        # By "MACHINE . ADDRESS", oldest first: the names that led there; none are known of an earlier daemon's.
        self._learned: dict[str, set[str]] = {}
        self._upstream = upstream
        self._resolver = Resolver(upstream, self._may_reach, self._learn)
        self._changing = asyncio.Lock()

    async def resume(self) -> tuple[Policy, Sequence[str]]:
        """The policy and the learned pairs to set up the rules with; it goes on with those of an earlier daemon."""
        listed = await nft_json("list", "set", "inet", self._names.table, "learned")
        members = [member for entry in listed for member in entry.get("set", {}).get("elem", [])]
        found = (" . ".join(member["concat"]) for member in members if "concat" in member)
        self._policy = policy_for(self._machines())
        self._learned = {pair: set() for pair in found if self._policy.names.get(_machine(pair))}
        return self._policy, list(self._learned)

    async def apply(self, script: str = "") -> None:
        """Put in force what holds now, together with other changes. Raises OperationFailed."""
        async with self._changing:
            policy = policy_for(self._machines())
            gone = [pair for pair in self._learned if not self._still(pair, policy)]
            await nft(script + rules.permit(self._names, policy) + rules.forget(self._names, gone))
            self._policy = policy
            for pair in gone:
                del self._learned[pair]
        await self.listen()

    def _still(self, pair: str, policy: Policy) -> bool:
        """Whether what was learned is allowed still; where the name is not known, while the list is the same."""
        machine, names = _machine(pair), self._learned[pair]
        if not names:
            return policy.names.get(machine) == self._policy.names.get(machine)
        return any(matches(name, policy.names.get(machine, ())) for name in names)

    async def listen(self) -> None:
        """Answer questions for names if some machine may reach any."""
        if not self._upstream or self._resolver.listens or not any(self._policy.names.values()):
            return
        try:
            await self._resolver.listen(RESOLVER, NAMES_PORT)
        except OSError as error:
            log.warning("machines with an egress list find no names: %s", error.strerror)

    async def close(self) -> None:
        """Answer nobody any more. Harmless twice."""
        await self._resolver.close()

    def _may_reach(self, machine: str, name: str) -> bool:
        return matches(name, self._policy.names.get(machine, ()))

    async def _learn(self, machine: str, name: str, addresses: Sequence[str]) -> None:
        """Let a machine reach what is behind a name. Raises OperationFailed."""
        async with self._changing:
            if not self._may_reach(machine, name):
                return  # not any more
            pairs = [f"{machine} . {address}" for address in addresses]
            new = [pair for pair in pairs if pair not in self._learned]
            known = [pair for pair in self._learned if _machine(pair) == machine and pair not in pairs]
            oldest = known[: max(0, len(known) + len(pairs) - MOST_LEARNED)]
            if script := rules.forget(self._names, oldest) + rules.learn(self._names, new):
                await nft(script)
            for pair in oldest:
                del self._learned[pair]
            for pair in pairs:
                self._learned.setdefault(pair, set()).add(name)


def _machine(pair: str) -> str:
    return pair.partition(" ")[0]
