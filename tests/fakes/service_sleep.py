"""Sleep of the fake service: the real admission, over rows in memory."""

from __future__ import annotations

import time

from openboxd.control import changes
from openboxd.model import MIB, Caller, Machine, MachineStatus
from openboxd.worker.orders import Hibernate, Order, Resume, Suspend, Wake


class ServiceSleep:
    """The part of `api.ports.Service` that is about machines that sleep."""

    def resident_bytes(self, machine: Machine) -> int:
        return 300 * MIB if machine.status in (MachineStatus.RUNNING, MachineStatus.SUSPENDED) else 0

    async def _sleep(self, caller: Caller, ref: str, order: Order, status: MachineStatus, **values) -> bool:
        machine = self.machine(caller, ref)
        with self._operation(machine, order) as needed:
            if needed:
                await self._set(machine, status=status, **values)
            return needed

    async def suspend_machine(self, caller: Caller, ref: str) -> int:
        return 1234 * await self._sleep(caller, ref, Suspend(), MachineStatus.SUSPENDED)

    async def resume_machine(self, caller: Caller, ref: str) -> int:
        return 2345 * await self._sleep(caller, ref, Resume(), MachineStatus.RUNNING)

    async def hibernate_machine(self, caller: Caller, ref: str) -> None:
        now = int(time.time() * 1000)
        await self._sleep(caller, ref, Hibernate(), MachineStatus.HIBERNATED, hibernated_at_ms=now)

    async def wake_machine(self, caller: Caller, ref: str) -> None:
        await self._sleep(caller, ref, Wake(), MachineStatus.RUNNING, hibernated_at_ms=0)

    async def set_auto_suspend(self, caller: Caller, ref: str, secs: int) -> None:
        await self._set(self.machine(caller, ref), auto_suspend_secs=changes.idle_secs(secs))

    async def set_auto_hibernate(self, caller: Caller, ref: str, secs: int) -> None:
        await self._set(self.machine(caller, ref), auto_hibernate_secs=changes.idle_secs(secs))
