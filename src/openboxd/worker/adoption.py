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
from openboxd.worker.restore import is_taken_back, was_before
from openboxd.worker.runs import connected

DOES_NOT_ANSWER = "its QEMU process is alive but does not answer; it is tried again, and ended by a start or restore"
SUSPENDED_AND_SILENT = f"it was suspended, and {DOES_NOT_ANSWER}"
"""The reason tells what the machine is once its run answers, also to a later daemon."""

ENDED_SILENTLY = "its QEMU process, which did not answer, has ended"

FAILED = MachineStatus.FAILED

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
        elif await adopt_run(drivers, worker):
            continue
        elif worker.machine.status is MachineStatus.STARTING and worker.machine.hibernated_at_ms:
            await drivers.hypervisor.end(run_id)  # it was being woken, and is woken anew from its capture
        else:
            reason = SUSPENDED_AND_SILENT if is_to_stand_still(worker) else DOES_NOT_ANSWER
            await worker.move(FAILED, reason, run_id=run_id)
    return len(alive)


def is_to_stand_still(worker: MachineWorker) -> bool:
    """Whether its vCPUs are to stand still: it is suspended, or was when its run fell silent, or when a restore began
    that is taken back."""
    machine, operations = worker.machine, worker.drivers.store.open_operations()
    told = [(machine.status, machine.status_reason)]
    told += [was_before(o) for o in operations if o.machine_id == machine.id and is_taken_back(o)]
    return any(status is MachineStatus.SUSPENDED or reason == SUSPENDED_AND_SILENT for status, reason in told)


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
            if not worker.exists or not worker.machine.run_id:
                return 0
            due = await adopt_run(drivers, worker) if worker.run is None else worker.machine.status is FAILED
            try:
                return await show_adopted(worker) if due else 0
            except BoxdError as error:
                log.warning("machine %s: its run answers, but cannot go on: %s", worker.id, error)
                return 0

    return await each([worker for worker in workers.values() if worker.current is None], adopt)


async def show_adopted(worker: MachineWorker) -> int:
    """A machine that failed because its run did not answer is what that run is, now that it does. 1 if it lives."""
    store, run = worker.drivers.store, worker.run
    if run is None:  # the process has ended meanwhile
        await store.update_machine(worker.id, status=FAILED, run_id="", status_reason=ENDED_SILENTLY)
        return 0
    state = await run.state()
    if state is RunState.ENDED:
        return 0  # which is being noted
    if state is RunState.PAUSED and is_to_stand_still(worker):
        await store.update_machine(worker.id, status=MachineStatus.SUSPENDED, status_reason="")
        if worker.agent is not None:
            worker.agent.rest()
        await worker.let_in()
        return 1
    if state is RunState.PAUSED:
        await run.resume()
    await worker.move(MachineStatus.STARTING)
    await worker.move(MachineStatus.RUNNING)
    return 1


async def resume_paused(drivers: Drivers, workers: Workers) -> int:
    """Directly after adoption: a save whose daemon and saver both died must not leave a guest paused. One that is
    suspended stays so, also if it was about to be restored."""

    async def resume(worker: MachineWorker) -> int:
        if worker.run is None or is_to_stand_still(worker):
            return 0
        if await worker.run.state() is not RunState.PAUSED:
            return 0
        await worker.run.resume()
        await note(drivers.store, happened(worker.id, "resume", "it was found paused"))
        return 1

    return await each(workers.values(), resume)
