"""Remove a checkpoint, or the machine with everything it owns: row first, bytes last.

A daemon killed in between leaves a row that says `removing` or `destroying`, and recovery goes on from there: a
crash can cost space for a while, never show a half of anything.
"""

from __future__ import annotations

import asyncio

from openboxd.errors import checkpoint_not_found
from openboxd.model import Checkpoint, CheckpointStatus, MachineStatus
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Remove
from openboxd.worker.runs import end_present_run
from openboxd.worker.steps import to_the_end


async def remove(worker: MachineWorker, job: Job) -> None:
    """Carry out the removal of a checkpoint."""
    assert isinstance(job.order, Remove)
    checkpoint = worker.drivers.store.checkpoint(worker.id, job.order.name)
    if checkpoint is None:
        raise checkpoint_not_found(job.order.name, worker.machine.name)
    await worker.drivers.store.update_checkpoint(checkpoint.id, status=CheckpointStatus.REMOVING)
    job.record()
    try:
        await drop_checkpoint(worker, checkpoint)
    except BaseException:
        await to_the_end(_show_again_or_forget(worker, checkpoint))
        raise


async def _show_again_or_forget(worker: MachineWorker, checkpoint: Checkpoint) -> None:
    """After a removal that failed: a checkpoint is there exactly if its directory is, which is whole or gone."""
    store = worker.drivers.store
    if worker.drivers.pool.checkpoint_dir(worker.id, checkpoint.id).exists():
        await store.update_checkpoint(checkpoint.id, status=checkpoint.status)
    elif any(c.id == checkpoint.id for c in store.removing_checkpoints()):
        await store.delete_checkpoint(checkpoint.id)


async def drop_checkpoint(worker: MachineWorker, checkpoint: Checkpoint) -> None:
    """Discard a checkpoint that nobody is shown any more, and forget its row."""
    drivers = worker.drivers
    steps = worker.steps("remove")
    final = drivers.pool.checkpoint_dir(worker.id, checkpoint.id)
    await drivers.holds.until_free(final)  # a copy that is made from it may be waiting for its turn
    await steps.run("discard", lambda: asyncio.to_thread(drivers.pool.discard, final))
    await steps.run("forget", lambda: drivers.store.delete_checkpoint(checkpoint.id))


async def destroy(worker: MachineWorker, job: Job) -> None:
    """Carry out the removal of the machine."""
    drivers = worker.drivers
    await worker.move(MachineStatus.DESTROYING)
    job.record()
    steps = worker.steps("destroy")
    await steps.run("end", lambda: end_present_run(worker, "the machine was removed"))
    machine_dir = drivers.pool.machine_dir(worker.id)
    await drivers.holds.until_free(machine_dir)
    await steps.run("discard", lambda: asyncio.to_thread(drivers.pool.discard, machine_dir))
    for checkpoint in (*drivers.store.checkpoints(worker.id), *_removing(worker)):
        await drivers.store.delete_checkpoint(checkpoint.id)
    await steps.run("forget", lambda: worker.move(MachineStatus.DESTROYED, run_id=""))


def _removing(worker: MachineWorker) -> list[Checkpoint]:
    return [c for c in worker.drivers.store.removing_checkpoints() if c.machine_id == worker.id]
