"""Use-cases of what machines reach: each other by their networks, the world by a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from openboxd.control.access import Act
from openboxd.control.base import Base
from openboxd.control.permits import check_egress, check_networks
from openboxd.errors import WrongState
from openboxd.model import Caller, Machine

SHOWN = 5
"""Entries of an egress list that its event names."""


class Reach(Base):
    """Networks and egress lists."""

    async def set_networks(self, caller: Caller, ref: str, networks: Sequence[str]) -> Machine:
        """These are the machine's networks from now on.

        Raises:
            PermissionDenied: it is a machine's own, and machines reach nothing but themselves.
            InvalidArgument: a name that is none, or too many. WrongState: this host cannot do it.
        """
        machine = self.machine(caller, ref, Act.LIMIT)
        after = await self._change(replace(machine, networks=check_networks(networks)), bool(networks))
        await self._record(caller, after, "networks", ", ".join(after.networks) or "none")
        return after

    async def set_egress_allow(self, caller: Caller, ref: str, entries: Sequence[str]) -> Machine:
        """This is all that the machine may reach of the world from now on; nothing means everything.

        Raises:
            PermissionDenied: it is a machine's own, and machines reach nothing but themselves.
            InvalidArgument: an entry that is none, or too many. WrongState: this host cannot do it.
        """
        machine = self.machine(caller, ref, Act.LIMIT)
        after = await self._change(replace(machine, egress_allow=check_egress(entries)), bool(entries))
        await self._record(caller, after, "egress", _shown(after.egress_allow))
        return after

    async def _change(self, wanted: Machine, limits: bool) -> Machine:
        """On record first, then in force; a daemon that is killed in between puts it in force when it starts."""
        network = self._drivers.network
        if limits and (reason := network.why_not(wanted)):
            raise WrongState(f"what machine '{wanted.name}' reaches was not changed: {reason}")
        values = {"networks": wanted.networks, "egress_allow": wanted.egress_allow}
        machine = await self._store.update_machine(wanted.id, **values)
        await network.refresh(machine)
        return machine


def _shown(entries: Sequence[str]) -> str:
    """An egress list for the event log: the beginning of a long one."""
    more = f" and {len(entries) - SHOWN} more" if len(entries) > SHOWN else ""
    return ", ".join(entries[:SHOWN]) + more if entries else "everything"
