"""Take a checkpoint: full memory and disk of the running machine at one instant, while it runs.

Intent, effect, publish: the row says `pending` before anything is written, the capture is made in the staging
area, and only when it lies whole and synced under its final name does one transaction turn the row to `ready`.
A failure anywhere leaves the machine running, nothing in the pool, and a `failed` row that tells why.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path

from openboxd.errors import MachineLost, WrongState, because, same_kind
from openboxd.model import Checkpoint, CheckpointStatus, Machine, Progress, SaveReport
from openboxd.ports import SaveJob
from openboxd.worker import manifest
from openboxd.worker.events import STANDS_STILL
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Save
from openboxd.worker.runs import disk_of
from openboxd.worker.staging import Staging
from openboxd.worker.steps import to_the_end

log = logging.getLogger(__name__)


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
        failed = {"status": CheckpointStatus.FAILED, "failure_reason": because(error)}
        await to_the_end(store.update_checkpoint(checkpoint.id, **failed))
        if isinstance(error, MachineLost) or not isinstance(error, Exception):
            raise
        sentence = f"machine '{worker.machine.name}' keeps running; checkpoint '{checkpoint.name}' was not saved"
        raise same_kind(error, f"{sentence}: {because(error)}") from error
    worker.report(Progress("save", "ready", 1.0, f"pause {ready.pause_us / 1000:.1f} ms"))


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
        staging = await Staging(drivers.pool, checkpoint.id).make(steps)
        report = await steps.run("capture", lambda: _take(worker, checkpoint, staging))
        await steps.run("describe", lambda: _describe(worker, checkpoint, report, staging))
        steps.undo("drop the capture", lambda: asyncio.to_thread(drivers.pool.discard, final))
        await steps.run("publish", lambda: asyncio.to_thread(drivers.pool.publish, staging, final))
        ready = _ready(checkpoint, report, begun)
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


async def _take(worker: MachineWorker, checkpoint: Checkpoint, staging: Path) -> SaveReport:
    run = worker.run
    if run is None:
        raise MachineLost(f"machine '{worker.machine.name}' ended before checkpoint '{checkpoint.name}' was saved")
    if worker.stalled:
        raise WrongState(f"machine '{worker.machine.name}' was not saved: {STANDS_STILL}")
    job = SaveJob(staging=staging, disk=disk_of(worker), parent=_parent(worker, checkpoint))
    return await run.save(job, worker.relabel("save"))


def _parent(worker: MachineWorker, checkpoint: Checkpoint) -> Path | None:
    """The capture whose memory the machine's present memory is most likely to equal.

    Pages are compared by content, so any capture of the same RAM size is correct: this is about sharing only.
    """
    ready = [
        c
        for c in worker.drivers.store.checkpoints(worker.id)
        if c.status is CheckpointStatus.READY and c.size.memory_bytes == checkpoint.size.memory_bytes
    ]
    if not ready:
        return None
    best = next((c for c in ready if c.id == checkpoint.parent), ready[-1])
    return worker.drivers.pool.checkpoint_dir(worker.id, best.id)


async def _describe(worker: MachineWorker, checkpoint: Checkpoint, report: SaveReport, staging: Path) -> None:
    assert worker.run is not None
    version = await worker.drivers.hypervisor.version()
    content = manifest.describe(checkpoint, worker.run.plan, report, staging, version)
    await asyncio.to_thread(manifest.write, staging, content)
