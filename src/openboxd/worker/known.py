"""A machine as it is on record, and its ways in, which are as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openboxd.errors import WrongState, machine_not_found
from openboxd.model import Held, Machine, MachineStatus
from openboxd.ports import Agent
from openboxd.worker.drivers import Drivers
from openboxd.worker.states import ASLEEP, may_move
from openboxd.worker.use import Use
from openboxd.worker.ways import follow, ways_in


class KnownMachine:
    """What of a worker needs no run.

    Attributes:
        agent: the agent of its run, if it has one.
        use: when the machine was used last.
        asleep: whoever uses the machine wakes it.
        on_running: told when it has begun to run.
        last_hold: what the last swap cost those who came in meanwhile.
    """

    def __init__(self, machine_id: str, drivers: Drivers) -> None:
        self.id = machine_id
        self.drivers = drivers
        self.agent: Agent | None = None
        self.use = Use()
        self.asleep = False
        self.on_running: Callable[[], None] = lambda: None
        self.last_hold = Held()

    @property
    def machine(self) -> Machine:
        """The machine as the store has it. Raises NotFound once it is destroyed."""
        machine = self.drivers.store.machine(self.id)
        if machine is None or machine.status is MachineStatus.DESTROYED:
            raise machine_not_found(machine.name if machine else self.id)
        return machine

    @property
    def exists(self) -> bool:
        """Whether the machine is not destroyed."""
        machine = self.drivers.store.machine(self.id)
        return machine is not None and machine.status is not MachineStatus.DESTROYED

    async def move(self, status: MachineStatus, reason: str = "", **values: Any) -> Machine:
        """Change the machine's status, checked against the table of moves."""
        machine = self.machine
        if not may_move(machine.status, status):
            raise WrongState(f"machine '{machine.name}' cannot become {status}; it is {machine.status}")
        begins = status is MachineStatus.RUNNING is not machine.status
        machine = await self.drivers.store.update_machine(self.id, status=status, status_reason=reason, **values)
        if begins:
            self.use.touch()
            self.on_running()
        if "name" in values:
            await self.arrange_ways()
        await self.let_in()
        return machine

    async def let_in(self) -> None:
        """Let the ways in be as the machine is: open, held or shut."""
        machine = self.drivers.store.machine(self.id)
        if machine is None:
            return
        self.asleep = machine.status in ASLEEP
        held = await follow(self.drivers.ways, machine, self.agent)
        if machine.status is MachineStatus.RUNNING:
            self.last_hold = held

    async def arrange_ways(self) -> None:
        """Let the machine have the ways in that are on record."""
        if self.exists:
            machine = self.machine
            await self.drivers.ways.arrange(self.id, machine.name, ways_in(self.drivers.store, machine))
