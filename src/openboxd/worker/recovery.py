"""What a starting daemon does before it serves: finish or take back whatever an earlier one left.

An ordered list; each recovery has a reason for its place, counts what it did, and may run twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from openboxd.errors import BoxdError
from openboxd.model import CheckpointStatus, MachineStatus
from openboxd.worker.adoption import adopt_runs, resume_paused
from openboxd.worker.drivers import Drivers
from openboxd.worker.each import Workers, each
from openboxd.worker.events import happened, note
from openboxd.worker.hibernate import drop_unused
from openboxd.worker.images import drop_unrecorded
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Destroy
from openboxd.worker.remove import destroy, drop_checkpoint
from openboxd.worker.restart import note_host_reboot
from openboxd.worker.settle import finish_operations, settle_statuses
from openboxd.worker.snapshot import end_save, left_versions

ENDED_DURING_SAVE = "the daemon ended during the save; the machine kept running"

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
