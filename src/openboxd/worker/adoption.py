"""Runs that an earlier daemon left, and guests that it left paused."""

from __future__ import annotations

import logging

from openboxd.errors import BoxdError
from openboxd.model import MachineStatus
from openboxd.ports import RunState
from openboxd.worker.drivers import Drivers
from openboxd.worker.each import Workers, each
from openboxd.worker.events import happened, note
from openboxd.worker.machine import MachineWorker
from openboxd.worker.runs import connected
from openboxd.worker.settle import is_to_stand_still

DOES_NOT_ANSWER = "its QEMU process is alive but does not answer; it is tried again, and ended by a start or restore"

log = logging.getLogger(__name__)


async def adopt_runs(drivers: Drivers, workers: Workers) -> int:
    """First, since everything later asks which runs live: take over known runs, end unknown ones."""
    known = {worker.machine.run_id: worker for worker in workers.values() if worker.machine.run_id}
    alive = set(await drivers.hypervisor.leftovers())
    for run_id in alive:
        worker = known.get(run_id)
        if worker is None or worker.machine.status in (MachineStatus.DESTROYING, MachineStatus.HIBERNATED):
            log.info("recovery: ending run %s, which belongs to no machine", run_id)
            await drivers.hypervisor.end(run_id)
        elif not await adopt_run(drivers, worker):
            await worker.move(MachineStatus.FAILED, DOES_NOT_ANSWER, run_id=run_id)
    return len(alive)


async def adopt_run(drivers: Drivers, worker: MachineWorker) -> bool:
    """Take over the run a machine is recorded with. False if its process lives but does not answer.

    Such a machine is `failed` with its run on record: nothing else is started beside that process. The daemon tries
    again from time to time; a start, restore or removal ends the process first.
    """
    try:
        run = await drivers.hypervisor.adopt(worker.machine.run_id)
        if run is not None:
            agent = await connected(worker, run.agent_socket)
            worker.attach(run, agent)
            if worker.machine.status is MachineStatus.SUSPENDED:
                agent.rest()
    except BoxdError as error:
        log.warning("machine %s: its run could not be taken over: %s", worker.id, error)
        return False
    return True


async def adopt_late(drivers: Drivers, workers: Workers) -> int:
    """Take over runs that did not answer before and do now; how many. Safe beside operations."""

    async def adopt(worker: MachineWorker) -> int:
        async with worker.alone():
            waits = worker.exists and worker.run is None and worker.machine.run_id
            return await _show_adopted(worker) if waits and await adopt_run(drivers, worker) else 0

    return await each([worker for worker in workers.values() if worker.current is None], adopt)


async def _show_adopted(worker: MachineWorker) -> int:
    if worker.run is None:  # the process has ended meanwhile
        await worker.drivers.store.update_machine(worker.id, run_id="")
        return 0
    if await worker.run.state() is RunState.PAUSED:
        await worker.run.resume()
    await worker.move(MachineStatus.STARTING)
    await worker.move(MachineStatus.RUNNING)
    return 1


async def resume_paused(drivers: Drivers, workers: Workers) -> int:
    """Directly after adoption: a save whose daemon and saver both died must not leave a guest paused. One that is
    suspended stays so, also if it was about to be restored."""
    going_back = {o.machine_id for o in drivers.store.open_operations() if is_to_stand_still(o)}

    async def resume(worker: MachineWorker) -> int:
        if worker.run is None or worker.machine.status is MachineStatus.SUSPENDED or worker.id in going_back:
            return 0
        if await worker.run.state() is not RunState.PAUSED:
            return 0
        await worker.run.resume()
        await note(drivers.store, happened(worker.id, "resume", "it was found paused"))
        return 1

    return await each(workers.values(), resume)
