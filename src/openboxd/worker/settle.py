"""What became of operations that an earlier daemon was at, and what machines are after that."""

from __future__ import annotations

import asyncio
import logging

from openboxd.errors import BoxdError
from openboxd.model import MachineStatus, Operation
from openboxd.ports import RunState
from openboxd.worker.adoption import show_adopted
from openboxd.worker.boot import STOP
from openboxd.worker.copy import COPY
from openboxd.worker.drivers import Drivers
from openboxd.worker.each import Workers, each
from openboxd.worker.events import RUN_ENDED, happened, note
from openboxd.worker.hibernate import HIBERNATE, WAKE, settle_hibernation, settle_wake
from openboxd.worker.images import IMAGE
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Restore
from openboxd.worker.restart import RESTART
from openboxd.worker.restore import RESTORE, SWAP, is_taken_back, restore_checkpoint, was_before
from openboxd.worker.runs import next_disk_of
from openboxd.worker.suspend import awaken

TAKEN_BACK = "the daemon ended during the restore; the machine is as it was"
ENDED_MEANWHILE = "its QEMU process ended while the daemon was down"

log = logging.getLogger(__name__)


async def finish_operations(drivers: Drivers, workers: Workers) -> int:
    """Restores past the point of no return are carried out, everything else begun is taken back."""
    operations = drivers.store.open_operations()
    for operation in operations:
        if operation.kind in (RESTART, IMAGE):
            continue  # ends when the machine was started again, or the image settled
        worker = workers.get(operation.machine_id)
        if worker is not None:
            await _finish(worker, operation)
        await drivers.store.end_operation(operation.id)
    return len(operations)


async def _finish(worker: MachineWorker, operation: Operation) -> None:
    if operation.kind == STOP:
        await _settle_stop(worker)
    elif operation.kind == HIBERNATE:
        await settle_hibernation(worker)
    elif operation.kind == WAKE:
        await settle_wake(worker)
    elif operation.kind == COPY and not operation.detail["or_boot"]:
        await _settle_copy(worker)
    elif operation.kind == RESTORE:
        await _settle_interrupted(worker, operation)


async def _settle_interrupted(worker: MachineWorker, operation: Operation) -> None:
    """A restore that cannot be settled is told of; the other machines are settled all the same."""
    store = worker.drivers.store
    try:
        await _settle_restore(worker.drivers, worker, operation)
    except (BoxdError, OSError) as error:
        log.exception("machine %s: an interrupted restore could not be finished", worker.id)
        await note(store, happened(worker.id, RESTORE, str(operation.detail["name"]), f"{error}"))


async def _settle_copy(worker: MachineWorker) -> None:
    """One that was shown running is there; any other never was."""
    if worker.machine.status is not MachineStatus.RUNNING:
        await worker.move(MachineStatus.DESTROYING)


async def _settle_stop(worker: MachineWorker) -> None:
    """A run that ended during a stop ended because it was told to. One that lives may be about to: it is watched."""
    if worker.run is None and worker.machine.status in (MachineStatus.RUNNING, MachineStatus.SUSPENDED):
        await worker.move(MachineStatus.STOPPED, run_id="")
        await note(worker.drivers.store, happened(worker.id, STOP))


async def _settle_restore(drivers: Drivers, worker: MachineWorker, operation: Operation) -> None:
    if is_taken_back(operation):
        await asyncio.to_thread(drivers.pool.discard, next_disk_of(worker))
        await _show_before(worker, operation)
        await note(drivers.store, happened(worker.id, RESTORE, str(operation.detail["name"]), TAKEN_BACK))
        return
    if operation.step != SWAP and worker.run is not None:
        return  # the new run lives, is recorded and was adopted
    checkpoint = drivers.store.checkpoint(worker.id, str(operation.detail["name"]))
    if checkpoint is None:
        log.error("machine %s: the checkpoint of an interrupted restore is gone", worker.id)
        return
    await restore_checkpoint(worker, checkpoint, Job(Restore(checkpoint.name)))
    await note(drivers.store, happened(worker.id, RESTORE, checkpoint.name))


async def _show_before(worker: MachineWorker, operation: Operation) -> None:
    """What it was when the restore began, unless it is known already to be something else."""
    if worker.machine.status is not MachineStatus.STARTING:
        return
    status, reason = was_before(operation)
    await worker.drivers.store.update_machine(worker.id, status=status, status_reason=reason)
    if status is MachineStatus.SUSPENDED and worker.agent is not None:
        worker.agent.rest()


async def settle_statuses(drivers: Drivers, workers: Workers) -> int:
    """After the operations: what a machine says it is, is what its run says."""

    async def settle(worker: MachineWorker) -> int:
        machine = worker.machine
        has_disk = drivers.pool.machine_dir(machine.id).exists()
        if machine.status is MachineStatus.PENDING and (machine.source or not has_disk):
            await worker.move(MachineStatus.DESTROYING)  # whoever was to make it has ended
            return 1
        if worker.run is not None and machine.status is MachineStatus.STARTING:
            await worker.move(MachineStatus.RUNNING, run_id=worker.run.run_id, hibernated_at_ms=0)
        elif worker.run is not None and machine.status is MachineStatus.SUSPENDED:
            return await _settle_suspended(worker)
        elif worker.run is not None and machine.status is MachineStatus.FAILED:
            return await show_adopted(worker)
        elif worker.run is None and machine.status is MachineStatus.STARTING and machine.hibernated_at_ms:
            await drivers.store.update_machine(worker.id, status=MachineStatus.HIBERNATED, run_id="")
        elif worker.run is None and machine.status in (MachineStatus.STARTING, MachineStatus.PENDING):
            await worker.move(MachineStatus.STOPPED, run_id="")
        elif worker.run is None and machine.status in (MachineStatus.RUNNING, MachineStatus.SUSPENDED):
            await worker.move(MachineStatus.FAILED, ENDED_MEANWHILE, run_id="")
            await note(drivers.store, happened(worker.id, RUN_ENDED, "", ENDED_MEANWHILE))
        else:
            return 0
        return 1

    return await each(workers.values(), settle)


async def _settle_suspended(worker: MachineWorker) -> int:
    """One that was just being resumed, or stopped, runs."""
    assert worker.run is not None
    if await worker.run.state() is not RunState.RUNNING:
        return 0
    await worker.move(MachineStatus.RUNNING)
    if worker.agent is not None:
        await awaken(worker, worker.agent)
    return 1
