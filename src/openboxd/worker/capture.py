"""Write a capture of the running machine, whoever is to own it: made in the staging area, whole under its final name.

Checkpoints and snapshots are captures that somebody owns; what is on record about them is theirs (`save`,
`snapshot`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

from openboxd.errors import MachineLost, WrongState
from openboxd.model import Checkpoint, CheckpointStatus, Progress, SaveReport, Snapshot
from openboxd.ports import SaveJob
from openboxd.worker import manifest
from openboxd.worker.events import STANDS_STILL
from openboxd.worker.machine import MachineWorker
from openboxd.worker.manifest import Origin
from openboxd.worker.runs import disk_of
from openboxd.worker.staging import Staging
from openboxd.worker.steps import Steps
from openboxd.worker.template import template_dir

log = logging.getLogger(__name__)


async def write_capture(
    worker: MachineWorker, steps: Steps, origin: Origin, final: Path, *, paused: bool = False
) -> SaveReport:
    """The steps from an empty staging directory to the capture under `final`, each with its undo armed before.

    The machine keeps running; or its vCPUs stand still before and after (`paused`). What goes on record about the
    capture comes after; then the caller commits.

    Raises:
        OperationFailed, WrongState: it was not written, the machine runs. MachineLost: its run has ended.
    """
    pool = worker.drivers.pool
    staging = await Staging(pool, origin.capture).make(steps)
    report = await steps.run("capture", lambda: take(worker, steps.operation, origin, staging, paused=paused))
    await steps.run("describe", lambda: describe(worker, origin, report, staging))
    steps.undo("drop the capture", lambda: asyncio.to_thread(pool.discard, final))
    await steps.run("publish", lambda: asyncio.to_thread(pool.publish, staging, final))
    return report


def tell_saved(worker: MachineWorker, operation: str, done: str, found: Checkpoint | Snapshot) -> None:
    """Tell the metrics, the log (in the words `done`) and those who watch what a save that is ready came to."""
    pause, took = found.pause_us / 1000, found.duration_ms
    worker.drivers.metrics.saves.labels(operation).observe(took / 1000)
    log.info("machine %s: %s, pause %.1f ms, ready after %d ms", worker.id, done, pause, took)
    worker.report(Progress(operation, "ready", 1.0, f"pause {pause:.1f} ms"))


async def take(worker: MachineWorker, operation: str, origin: Origin, staging: Path, *, paused: bool) -> SaveReport:
    """Write the files of a capture into a directory; of a guest that stands still with `paused`.

    Raises:
        OperationFailed, WrongState, MachineLost.
    """
    run = worker.run
    if run is None:
        raise MachineLost(f"machine '{worker.machine.name}' ended before '{origin.name}' was saved")
    if worker.stalled:
        raise WrongState(f"machine '{worker.machine.name}' was not saved: {STANDS_STILL}")
    parent = _parent(worker, origin)
    async with _kept(worker, parent):
        job = SaveJob(staging=staging, disk=disk_of(worker), parent=parent, paused=paused)
        report = await run.save(job, worker.relabel(operation))
    if not paused:
        worker.drivers.metrics.pauses.observe(report.pause_us / 1_000_000)
    return report


def _parent(worker: MachineWorker, origin: Origin) -> Path | None:
    """The capture whose memory the machine's present memory is most likely to equal.

    Pages are compared by content, so any capture of the same RAM size is correct: this is about sharing only.
    """
    ready = [
        c
        for c in worker.drivers.store.checkpoints(worker.id)
        if c.status is CheckpointStatus.READY and c.size.memory_bytes == origin.size.memory_bytes
    ]
    if not ready:
        return _snapshot(worker, origin) or _template(worker, origin)
    best = next((c for c in ready if c.id == origin.parent), ready[-1])
    return worker.drivers.pool.checkpoint_dir(worker.id, best.id)


def _snapshot(worker: MachineWorker, origin: Origin) -> Path | None:
    """The newest snapshot that was saved from the machine, or else the one that it was made from, if it has one."""
    machine, pool = worker.machine, worker.drivers.pool
    near = [
        found
        for found in worker.drivers.store.snapshots()
        if found.version and found.size.memory_bytes == origin.size.memory_bytes
        if machine.id == found.source_id or machine.source_id == found.id
        if pool.snapshot_dir(found.id) not in worker.drivers.holds.leaving
    ]
    best = max(near, key=lambda found: (found.source_id == machine.id, found.updated_at_ms), default=None)
    return pool.snapshot_dir(best.id, best.version) if best else None


def _template(worker: MachineWorker, origin: Origin) -> Path | None:
    """The booted image: what every machine that was made from it has in common."""
    directory = template_dir(worker.drivers.pool, worker.machine.image, origin.size)
    return directory if directory.exists() and directory not in worker.drivers.holds.leaving else None


def _kept(worker: MachineWorker, parent: Path | None) -> AbstractAsyncContextManager[None]:
    """Keep what a save shares with: it reads that until its end."""
    if parent is None:
        return nullcontext()
    return worker.drivers.holds.hold(parent, f"a save of machine '{worker.machine.name}' shares with it")


async def describe(worker: MachineWorker, origin: Origin, report: SaveReport, staging: Path) -> None:
    """Write the manifest of a capture beside its files."""
    assert worker.run is not None
    version = await worker.drivers.hypervisor.version()
    content = manifest.describe(origin, worker.run.plan, report, staging, version)
    await asyncio.to_thread(manifest.write, staging, content)
