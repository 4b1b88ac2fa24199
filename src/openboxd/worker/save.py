"""Take a checkpoint: full memory and disk of the running machine at one instant, while it runs.

Intent, effect, publish: the row says `pending` before anything is written, the capture is made in the staging
area, and only when it lies whole and synced under its final name does one transaction turn the row to `ready`.
A failure anywhere leaves the machine running, nothing in the pool, and a `failed` row that tells why.
"""

from __future__ import annotations

import time
from dataclasses import replace

from openboxd.errors import MachineLost, OutcomeUnknown, because, same_kind
from openboxd.model import Checkpoint, CheckpointStatus, Machine, SaveReport
from openboxd.worker.capture import tell_saved, write_capture
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.manifest import Origin
from openboxd.worker.orders import Save
from openboxd.worker.steps import to_the_end


async def save(worker: MachineWorker, job: Job) -> None:
    """Carry out a save order. The caller is told `pending` as soon as the row is there."""
    assert isinstance(job.order, Save)
    store, begun = worker.drivers.store, time.monotonic()
    checkpoint = _pending(worker.machine, job.order)
    await store.begin_checkpoint(checkpoint)
    job.record()
    try:
        ready = await _capture(worker, checkpoint, begun)
    except BaseException as error:
        worker.conclude()
        failed = {"status": CheckpointStatus.FAILED, "failure_reason": because(error)}
        await to_the_end(store.update_checkpoint(checkpoint.id, **failed))
        if isinstance(error, MachineLost) or not isinstance(error, Exception):
            raise
        raise same_kind(error, _sentence(worker.machine.name, checkpoint.name, error)) from error
    tell_saved(worker, "save", "saved", ready)


def _sentence(machine: str, checkpoint: str, error: Exception) -> str:
    if isinstance(error, OutcomeUnknown):
        return f"checkpoint '{checkpoint}' of machine '{machine}' was not saved: {because(error)}"
    return f"machine '{machine}' keeps running; checkpoint '{checkpoint}' was not saved: {because(error)}"


def _pending(machine: Machine, order: Save) -> Checkpoint:
    return Checkpoint(
        id=order.checkpoint_id,
        machine_id=machine.id,
        name=order.name,
        status=CheckpointStatus.PENDING,
        created_at_ms=time.time_ns() // 1_000_000,
        created_by=order.created_by,
        parent=machine.head,
        size=machine.size,
    )


async def _capture(worker: MachineWorker, checkpoint: Checkpoint, begun: float) -> Checkpoint:
    """The capture, from the journal's first line to the `ready` row. Raises with nothing left behind."""
    drivers = worker.drivers
    journal = await worker.journal("save", {"checkpoint": checkpoint.id})
    steps = worker.steps("save", journal)
    final = drivers.pool.checkpoint_dir(worker.id, checkpoint.id)
    try:
        report = await write_capture(worker, steps, _origin(checkpoint), final)
        ready = _ready(checkpoint, report, begun)
        worker.conclude()
        await steps.run("ready", lambda: drivers.store.finish_checkpoint(ready))
        steps.commit()
    except BaseException:
        await to_the_end(steps.unwind())
        raise
    finally:
        await to_the_end(drivers.store.end_operation(journal))
    return ready


def _ready(checkpoint: Checkpoint, report: SaveReport, begun: float) -> Checkpoint:
    return replace(
        checkpoint,
        status=CheckpointStatus.READY,
        pause_us=report.pause_us,
        written_bytes=report.written_bytes,
        duration_ms=round(1000 * (time.monotonic() - begun)),
    )


def _origin(checkpoint: Checkpoint) -> Origin:
    return Origin(
        capture=checkpoint.id,
        machine=checkpoint.machine_id,
        name=checkpoint.name,
        taken_at_ms=checkpoint.created_at_ms,
        size=checkpoint.size,
        parent=checkpoint.parent,
    )
