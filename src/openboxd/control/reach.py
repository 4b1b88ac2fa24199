"""Use-cases of what machines reach: each other by their networks, the world by a list."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.control.access import Act
from openboxd.control.base import Base
from openboxd.control.permits import check_egress, check_networks
from openboxd.errors import WrongState
from openboxd.model import Caller, Machine


class Reach(Base):
    """Networks and egress lists."""

    async def set_networks(self, caller: Caller, ref: str, networks: Sequence[str]) -> Machine:
        """These are the machine's networks from now on.

        Raises:
            InvalidArgument: a name that is none, or too many. WrongState: this host cannot do it.
        """
        machine = self.machine(caller, ref, Act.MANAGE)
        chosen = check_networks(networks)
        self._expect_means(machine, bool(chosen))
        machine = await self._store.update_machine(machine.id, networks=chosen)
        await self._drivers.network.refresh()
        return machine

    async def set_egress_allow(self, caller: Caller, ref: str, entries: Sequence[str]) -> Machine:
        """This is all that the machine may reach of the world from now on; nothing means everything.

        Raises:
            InvalidArgument: an entry that is none, or too many. WrongState: this host cannot do it.
        """
        machine = self.machine(caller, ref, Act.MANAGE)
        chosen = check_egress(entries)
        self._expect_means(machine, bool(chosen))
        machine = await self._store.update_machine(machine.id, egress_allow=chosen)
        await self._drivers.network.refresh()
        return machine

    def _expect_means(self, machine: Machine, wanted: bool) -> None:
        if wanted and (reason := self._drivers.network.why_not()):
            raise WrongState(f"what machine '{machine.name}' reaches was not changed: {reason}")
