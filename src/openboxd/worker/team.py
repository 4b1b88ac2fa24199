"""All machines' workers, by machine id; and the one place that knows which function carries out which order."""

from __future__ import annotations

import asyncio

from openboxd.errors import machine_not_found
from openboxd.model import MachineStatus
from openboxd.worker import (
    boot,
    copy,
    fork,
    hibernate,
    orders,
    remove,
    rename,
    resize,
    restore,
    save,
    snapshot,
    suspend,
)
from openboxd.worker.adoption import adopt_late
from openboxd.worker.drivers import Drivers
from openboxd.worker.idle import IdleTimers
from openboxd.worker.machine import MachineWorker, Operation
from openboxd.worker.recovery import recover
from openboxd.worker.restart import start_again
from openboxd.worker.timers import Timers
from openboxd.worker.waking import Waking

OPERATIONS: dict[type, Operation] = {
    orders.Start: boot.start,
    orders.StartFrom: copy.start_from,
    orders.Stop: boot.stop,
    orders.Reboot: boot.reboot,
    orders.Rename: rename.rename,
    orders.Resize: resize.resize,
    orders.Save: save.save,
    orders.SaveSnapshot: snapshot.save_snapshot,
    orders.Fork: fork.fork,
    orders.Restore: restore.restore,
    orders.Suspend: suspend.suspend,
    orders.Resume: suspend.resume,
    orders.Hibernate: hibernate.hibernate,
    orders.Wake: hibernate.wake,
    orders.Remove: remove.remove,
    orders.Destroy: remove.destroy,
}


ADOPT_EVERY = 10.0
"""Seconds between attempts to take over runs that do not answer."""


class Team:
    """The workers of a daemon."""

    def __init__(self, drivers: Drivers) -> None:
        self.drivers = drivers
        self._workers: dict[str, MachineWorker] = {}
        self.timers = Timers(drivers.store, self.destroy)
        self.idle = IdleTimers(drivers.store, self.worker)
        self.waking = Waking(drivers.ways, self._workers)
        self._restarting: asyncio.Task[None] | None = None
        self._adopting: asyncio.Task[None] | None = None

    def worker(self, machine_id: str) -> MachineWorker:
        """The worker of a machine that is not destroyed. Raises NotFound."""
        machine = self.drivers.store.machine(machine_id)
        if machine is None or machine.status is MachineStatus.DESTROYED:
            raise machine_not_found(machine_id)
        if machine_id not in self._workers:
            worker = self._workers[machine_id] = MachineWorker(machine_id, self.drivers, OPERATIONS)
            worker.on_running = self.idle.changed
        return self._workers[machine_id]

    def current(self, machine_id: str) -> orders.Order | None:
        """The order that is being carried out on a machine."""
        worker = self._workers.get(machine_id)
        return worker.current if worker is not None else None

    async def destroy(self, machine_id: str, actor: str = "") -> None:
        """End a machine and all it owns, then drop its worker."""
        await self.worker(machine_id).submit(orders.Destroy(), actor).done()
        self.forget(machine_id)

    def forget(self, machine_id: str) -> None:
        """Drop the worker of a machine that is destroyed."""
        self._workers.pop(machine_id, None)

    async def recover(self) -> None:
        """Settle what an earlier daemon left; call once, before serving."""
        workers = {machine.id: self.worker(machine.id) for machine in self.drivers.store.machines()}
        await recover(self.drivers, workers)
        self._restarting = asyncio.create_task(start_again(self.drivers, workers), name="restarts")
        self._adopting = asyncio.create_task(self._adopt_late(), name="late adoptions")
        self.timers.start()
        self.idle.start()

    async def _adopt_late(self) -> None:
        """Now and then try again to take over runs that did not answer when the daemon started."""
        while True:
            await asyncio.sleep(ADOPT_EVERY)
            await adopt_late(self.drivers, dict(self._workers))

    async def close(self, limit: float) -> None:
        """Let go of all machines: wait for operations up to `limit` seconds, then detach. Machines run on."""
        await self.timers.close()
        await self.idle.close()
        await self.waking.close()
        tasks = [task for task in (self._restarting, self._adopting) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        busy = [asyncio.ensure_future(worker.idle()) for worker in self._workers.values()]
        if busy:
            await asyncio.wait(busy, timeout=limit)
        for waiting in busy:
            waiting.cancel()
        for worker in list(self._workers.values()):
            run, agent = worker.run, worker.agent
            worker.detach_run()
            if agent is not None:
                await agent.close("the daemon is stopping")
            if run is not None:
                await run.detach()
