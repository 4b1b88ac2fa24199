"""Use-cases of machines that sleep: suspended in memory, hibernated on disk, by order or for want of use."""

from __future__ import annotations

from openboxd.control import changes
from openboxd.control.base import Base
from openboxd.host.memory import resident_bytes
from openboxd.model import Caller, Machine
from openboxd.worker.orders import Hibernate, Resume, Suspend, Wake


class Sleep(Base):
    """Between running, suspended and hibernated."""

    def resident_bytes(self, machine: Machine) -> int:
        """Memory of the host that the machine's run takes now; 0 without one."""
        run = self.team.worker(machine.id).run if machine.run_id else None
        return resident_bytes(run.pid) if run is not None else 0

    async def suspend_machine(self, caller: Caller, ref: str) -> int:
        """Pause a machine's vCPUs; how long that took in microseconds, 0 if they stood still."""
        job = self._worker(caller, ref).submit(Suspend(), caller.author)
        await job.done()
        return job.took_us

    async def resume_machine(self, caller: Caller, ref: str) -> int:
        """Let a suspended machine go on; how long it took until its vCPUs ran in microseconds, 0 if they did."""
        job = self._worker(caller, ref).submit(Resume(), caller.author)
        await job.done()
        return job.took_us

    async def hibernate_machine(self, caller: Caller, ref: str) -> None:
        """Put a machine's memory to disk and end its run."""
        await self._worker(caller, ref).submit(Hibernate(), caller.author).done()

    async def wake_machine(self, caller: Caller, ref: str) -> None:
        """Let a hibernated machine go on; returns when its guest has answered."""
        await self._worker(caller, ref).submit(Wake(), caller.author).done()

    async def set_auto_suspend(self, caller: Caller, ref: str, secs: int) -> None:
        """Suspend a machine after so many seconds without use, counted anew from now; 0 = never."""
        await self._set_timer(caller, ref, auto_suspend_secs=changes.idle_secs(secs))

    async def set_auto_hibernate(self, caller: Caller, ref: str, secs: int) -> None:
        """Hibernate a machine after so many seconds without use, counted anew from now; 0 = never."""
        await self._set_timer(caller, ref, auto_hibernate_secs=changes.idle_secs(secs))

    async def _set_timer(self, caller: Caller, ref: str, **values: int) -> None:
        worker = self._worker(caller, ref)
        await self._store.update_machine(worker.id, **values)
        worker.use.touch()
        self.team.idle.changed()
