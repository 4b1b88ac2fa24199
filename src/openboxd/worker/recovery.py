"""What a starting daemon does before it serves: finish or take back whatever an earlier one left.

An ordered list; each recovery has a reason for its place, counts what it did, and may run twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from openboxd.errors import BoxdError
from openboxd.model import CheckpointStatus, MachineStatus, Operation
from openboxd.ports import RunState
from openboxd.worker.boot import STOP
from openboxd.worker.copy import COPY
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import RUN_ENDED, happened, note
from openboxd.worker.hibernate import HIBERNATE, WAKE, drop_unused, settle_hibernation, settle_wake
from openboxd.worker.images import drop_unrecorded
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Destroy, Restore
from openboxd.worker.remove import destroy, drop_checkpoint
from openboxd.worker.restart import RESTART, note_host_reboot
from openboxd.worker.restore import SWAP, restore_checkpoint
from openboxd.worker.runs import connected, next_disk_of
from openboxd.worker.snapshot import end_save, left_versions
from openboxd.worker.suspend import awaken

ENDED_DURING_SAVE = "the daemon ended during the save; the machine kept running"
TAKEN_BACK = "the daemon ended during the restore; the machine is as it was"
DOES_NOT_ANSWER = "its QEMU process is alive but does not answer; it is tried again, and ended by a start or restore"
ENDED_MEANWHILE = "its QEMU process ended while the daemon was down"

SWAPPED = (SWAP, "resume", "answer")
"""Steps of a restore from which there is only forward."""

Workers = Mapping[str, MachineWorker]

log = logging.getLogger(__name__)


async def recover(drivers: Drivers, workers: Workers) -> None:
    """Run the list. A recovery that fails is logged; the others still run, and the daemon still serves."""
    for name, action in RECOVERIES:
        try:
            count = await action(drivers, workers)
        except (BoxdError, OSError):
            log.exception("recovery '%s' failed", name)
            continue
        if count:
            log.info("recovery: %s: %d", name, count)


async def each(workers: Iterable[MachineWorker], action: Callable[[MachineWorker], Awaitable[int]]) -> int:
    """Do something for every machine; a failure of one is logged and concerns nobody else."""
    count = 0
    for worker in workers:
        try:
            count += await action(worker)
        except (BoxdError, OSError):
            log.exception("recovery of machine %s failed", worker.id)
    return count


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
    going_back = {o.machine_id for o in drivers.store.open_operations() if _is_to_stand_still(o)}

    async def resume(worker: MachineWorker) -> int:
        if worker.run is None or worker.machine.status is MachineStatus.SUSPENDED or worker.id in going_back:
            return 0
        if await worker.run.state() is not RunState.PAUSED:
            return 0
        await worker.run.resume()
        await note(drivers.store, happened(worker.id, "resume", "it was found paused"))
        return 1

    return await each(workers.values(), resume)


def _is_to_stand_still(operation: Operation) -> bool:
    """A restore of a suspended machine that will be taken back."""
    return operation.detail.get("before") == MachineStatus.SUSPENDED and operation.step not in SWAPPED


async def fail_pending_checkpoints(drivers: Drivers, workers: Workers) -> int:
    """A save does not survive its daemon: its row tells why."""
    count = 0
    for worker in workers.values():
        for checkpoint in drivers.store.checkpoints(worker.id):
            if checkpoint.status is not CheckpointStatus.PENDING:
                continue
            await asyncio.to_thread(drivers.pool.discard, drivers.pool.checkpoint_dir(worker.id, checkpoint.id))
            await drivers.store.update_checkpoint(
                checkpoint.id,
                status=CheckpointStatus.FAILED,
                failure_reason=ENDED_DURING_SAVE,
            )
            await note(drivers.store, happened(worker.id, "save", checkpoint.name, ENDED_DURING_SAVE))
            count += 1
    return count


async def settle_snapshots(drivers: Drivers, workers: Workers) -> int:
    """Nor does the save of a snapshot; the version before it counts. Before the journal is done with: what was begun
    and is not on record goes, also what a removal left."""
    pending = [snapshot for snapshot in drivers.store.snapshots() if snapshot.saving]
    for snapshot in pending:
        await end_save(drivers, snapshot, ENDED_DURING_SAVE)
        await note(drivers.store, happened(snapshot.saving, "snapshot", snapshot.name, ENDED_DURING_SAVE))
    begun = {str(operation.detail.get("snapshot", "")) for operation in drivers.store.open_operations()}
    for path in await asyncio.to_thread(left_versions, drivers, begun):
        await asyncio.to_thread(drivers.pool.discard, path)
    return len(pending)


async def settle_images(drivers: Drivers, workers: Workers) -> int:
    """Nor does the build or the removal of an image. Before the journal is done with, as with snapshots."""
    return await drop_unrecorded(drivers)


async def finish_operations(drivers: Drivers, workers: Workers) -> int:
    """Restores past the point of no return are carried out, everything else begun is taken back."""
    operations = drivers.store.open_operations()
    for operation in operations:
        if operation.kind == RESTART:
            continue  # ends when the machine was started again
        worker = workers.get(operation.machine_id)
        if worker is not None and operation.kind == STOP:
            await _settle_stop(worker)
        if worker is not None and operation.kind == HIBERNATE:
            await settle_hibernation(worker)
        if worker is not None and operation.kind == WAKE:
            await settle_wake(worker)
        if worker is not None and operation.kind == COPY and not operation.detail["or_boot"]:
            await _settle_copy(worker)
        if worker is not None and operation.kind == "restore":
            try:
                await _settle_restore(drivers, worker, operation)
            except (BoxdError, OSError) as error:  # of this machine; the others are settled all the same
                log.exception("machine %s: an interrupted restore could not be finished", worker.id)
                await note(drivers.store, happened(worker.id, "restore", str(operation.detail["name"]), f"{error}"))
        await drivers.store.end_operation(operation.id)
    return len(operations)


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
    if operation.step not in SWAPPED:
        await asyncio.to_thread(drivers.pool.discard, next_disk_of(worker))
        if _is_to_stand_still(operation) and worker.run is not None and worker.agent is not None:
            await drivers.store.update_machine(worker.id, status=MachineStatus.SUSPENDED)
            worker.agent.rest()
        await note(drivers.store, happened(worker.id, "restore", str(operation.detail["name"]), TAKEN_BACK))
        return
    if operation.step != SWAP and worker.run is not None:
        return  # the new run lives, is recorded and was adopted
    checkpoint = drivers.store.checkpoint(worker.id, str(operation.detail["name"]))
    if checkpoint is None:
        log.error("machine %s: the checkpoint of an interrupted restore is gone", worker.id)
        return
    await restore_checkpoint(worker, checkpoint, Job(Restore(checkpoint.name)))
    await note(drivers.store, happened(worker.id, "restore", checkpoint.name))


async def settle_statuses(drivers: Drivers, workers: Workers) -> int:
    """After the operations: what a machine says it is, is what its run says."""

    async def settle(worker: MachineWorker) -> int:
        machine = worker.machine
        has_disk = drivers.pool.machine_dir(machine.id).exists()
        if machine.status is MachineStatus.PENDING and (machine.source or not has_disk):
            await worker.move(MachineStatus.DESTROYING)  # whoever was to make it has ended
            return 1
        if worker.run is not None and machine.status is MachineStatus.STARTING:
            await worker.move(MachineStatus.RUNNING, run_id=worker.run.run_id)
        elif worker.run is not None and machine.status is MachineStatus.SUSPENDED:
            return await _settle_suspended(worker)
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


async def finish_removals(drivers: Drivers, workers: Workers) -> int:
    """Rows that say `removing` and `destroying` lose their bytes, then themselves."""

    async def finish(worker: MachineWorker) -> int:
        if worker.machine.status is MachineStatus.DESTROYING:
            await destroy(worker, Job(Destroy()))
            return 1
        leaving = [c for c in drivers.store.removing_checkpoints() if c.machine_id == worker.id]
        for checkpoint in leaving:
            await drop_checkpoint(worker, checkpoint)
        return len(leaving)

    return await each(workers.values(), finish)


async def sweep_hibernations(drivers: Drivers, workers: Workers) -> int:
    """Once it is known who is hibernated: captures to wake from of those who are not."""

    async def sweep(worker: MachineWorker) -> int:
        return int(worker.exists and await drop_unused(worker))

    return await each(workers.values(), sweep)


async def sweep_runs(drivers: Drivers, workers: Workers) -> int:
    """Once every run has been adopted or ended: what is left of others is of nobody."""
    return await drivers.hypervisor.sweep()


async def open_ways(drivers: Drivers, workers: Workers) -> int:
    """After everything about machines: whoever waits at a gate is let through, or told why not."""

    async def let_in(worker: MachineWorker) -> int:
        if worker.exists:
            await worker.let_in()
        return 0

    return await each(workers.values(), let_in)


async def pause_usage(drivers: Drivers, workers: Workers) -> int:
    """Before anything is found out about machines: nobody saw what they used since the daemon's last sign of life."""
    await drivers.store.pause_usage()
    return 0


async def resume_usage(drivers: Drivers, workers: Workers) -> int:
    """After the statuses: a machine that nothing above had to settle has been meanwhile what it is."""

    async def resume(worker: MachineWorker) -> int:
        return int(await drivers.store.resume_usage(worker.id))

    return await each(workers.values(), resume)


async def empty_staging(drivers: Drivers, workers: Workers) -> int:
    """Last: nothing above needs what lies there."""
    return await asyncio.to_thread(drivers.pool.recover)


RECOVERIES: tuple[tuple[str, Callable[[Drivers, Workers], Awaitable[int]]], ...] = (
    ("pause usage", pause_usage),
    ("adopt runs", adopt_runs),
    ("resume paused guests", resume_paused),
    ("fail pending checkpoints", fail_pending_checkpoints),
    ("settle snapshots", settle_snapshots),
    ("settle images", settle_images),
    ("note a reboot of the host", note_host_reboot),
    ("finish operations", finish_operations),
    ("settle statuses", settle_statuses),
    ("resume usage", resume_usage),
    ("finish removals", finish_removals),
    ("sweep hibernations", sweep_hibernations),
    ("open the ways in", open_ways),
    ("sweep runs", sweep_runs),
    ("empty staging", empty_staging),
)
