"""Save a snapshot of the running machine: a capture that belongs to the owner's account and outlives the machine.

As with checkpoints the row comes first: it says that a version is being saved, and from which machine. The version
before stays in place, and can be used, until the new one lies whole under its name and is on record. A daemon that
starts discards what the journal says was begun and the row does not count, and versions older than the row's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from openboxd.errors import BoxdError, MachineLost, because, same_kind
from openboxd.model import Machine, SaveReport, Snapshot
from openboxd.worker.capture import tell_saved, write_capture
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import now_ms
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.manifest import Origin
from openboxd.worker.orders import SaveSnapshot
from openboxd.worker.steps import Steps, to_the_end

REMOVED_MEANWHILE = "machine '{}' was removed meanwhile"

FIXED = ("isolated", "networks")
"""Settings of the captured machine that those made from it have, too: they say what it may reach."""

INHERITED = ("auto_suspend_secs", "auto_hibernate_secs", "idle_ignore_outbound")
"""Settings that they begin with, unless they are told others."""

log = logging.getLogger(__name__)


async def save_snapshot(worker: MachineWorker, job: Job) -> None:
    """Carry out the order. The caller is told `pending` as soon as the row is there."""
    assert isinstance(job.order, SaveSnapshot)
    machine, begun = worker.machine, time.monotonic()
    beginning = asyncio.ensure_future(worker.drivers.store.begin_snapshot(_pending(machine, job.order)))
    try:
        row = await asyncio.shield(beginning)
        job.record()
        ready = await _capture(worker, row, begun)
    except BaseException as error:
        await to_the_end(_note_failure(worker, beginning, error))
        if isinstance(error, MachineLost) or beginning.exception() or not isinstance(error, Exception):
            raise
        sentence = f"machine '{machine.name}' keeps running; snapshot '{job.order.name}' was not saved"
        raise same_kind(error, f"{sentence}: {because(error)}") from error
    tell_saved(worker, "snapshot", "snapshot saved", ready)


def _pending(machine: Machine, order: SaveSnapshot) -> Snapshot:
    """The row of a snapshot that does not exist yet."""
    now = now_ms()
    return Snapshot(
        id=order.snapshot_id,
        owner_id=order.owner_id,
        name=order.name,
        created_at_ms=now,
        saving=machine.id,
        tried_at_ms=now,
        **_of(machine),
    )


def _of(machine: Machine) -> dict[str, Any]:
    """What a snapshot keeps of the machine."""
    return {
        "source_id": machine.id,
        "source_name": machine.name,
        "image": machine.image,
        "image_name": machine.image_name,
        "size": machine.size,
        "disk_bytes": machine.disk_bytes,
        "labels": machine.labels,
        **{name: getattr(machine, name) for name in (*FIXED, *INHERITED)},
    }


async def _capture(worker: MachineWorker, row: Snapshot, begun: float) -> Snapshot:
    """The new version, from the journal's first line to the row. Raises with nothing left behind."""
    drivers, version = worker.drivers, row.version + 1
    journal = await worker.journal("snapshot", {"snapshot": row.id, "version": version})
    steps = worker.steps("snapshot", journal)
    try:
        report = await write_capture(worker, steps, _origin(worker, row), drivers.pool.snapshot_dir(row.id, version))
        ready = _ready(worker.machine, row, report, begun)
        steps.undo("show the version before", lambda: drivers.store.update_snapshot(row.id, **_kept(row)))
        worker.conclude()
        await steps.run("ready", lambda: drivers.store.update_snapshot(row.id, **_kept(ready)))
        steps.commit()
        await _drop(drivers, steps, row)
    except BaseException:
        await to_the_end(steps.unwind())
        raise
    finally:
        await to_the_end(drivers.store.end_operation(journal))
    return ready


def _origin(worker: MachineWorker, row: Snapshot) -> Origin:
    machine = worker.machine
    return Origin(
        capture=row.id,
        machine=machine.id,
        name=row.name,
        taken_at_ms=row.tried_at_ms,
        size=machine.size,
        parent=machine.head,
    )


def _ready(machine: Machine, row: Snapshot, report: SaveReport, begun: float) -> Snapshot:
    return replace(
        row,
        version=row.version + 1,
        saving="",
        updated_at_ms=row.tried_at_ms,
        pause_us=report.pause_us,
        duration_ms=round(1000 * (time.monotonic() - begun)),
        failed_version=0,
        failure_reason="",
        **_of(machine),
    )


def _kept(row: Snapshot) -> dict[str, Any]:
    """All fields that a save changes."""
    fixed = ("id", "owner_id", "name", "created_at_ms", "tried_at_ms")
    return {name: value for name, value in vars(row).items() if name not in fixed}


async def _drop(drivers: Drivers, steps: Steps, before: Snapshot) -> None:
    """Discard the version that was replaced. If that fails twice it is left to a daemon's start."""
    if not before.version:
        return
    old = drivers.pool.snapshot_dir(before.id, before.version)
    try:
        await steps.run("drop", lambda: drivers.holds.drop(old, drivers.pool.discard))
    except Exception:
        with suppress(OSError):
            await drivers.holds.drop(old, drivers.pool.discard)
        if old.exists():
            log.exception("snapshot %s: version %d was replaced and stays for now", before.id, before.version)


async def _note_failure(worker: MachineWorker, beginning: asyncio.Future[Snapshot], error: BaseException) -> None:
    """Put on record that there is no further version, and why. Nothing is, if the save was not even begun."""
    drivers = worker.drivers
    try:
        row = await beginning
    except BoxdError:
        return
    gone = isinstance(error, asyncio.CancelledError)
    reason = REMOVED_MEANWHILE.format(worker.machine.name) if gone else because(error)
    await end_save(drivers, row, reason)


async def end_save(drivers: Drivers, row: Snapshot, reason: str) -> None:
    """A save came to nothing: the version before counts, or there is none."""
    found = drivers.store.snapshot(row.id)
    if found is None or not found.saving:
        return  # it was on record already that it is ready
    failed = {"saving": "", "failed_version": row.version + 1, "failure_reason": reason}
    await drivers.store.update_snapshot(row.id, **failed)
    if not row.version:
        await asyncio.to_thread(drivers.pool.discard, drivers.pool.snapshot_dir(row.id))


async def remove_snapshot(drivers: Drivers, snapshot: Snapshot) -> None:
    """Remove a snapshot that nobody holds: row first, bytes last.

    Whatever fails, it is on record exactly if its directory is there.

    Raises:
        HostUnfit: the pool is not mounted. Busy: a version is being saved.
    """
    drivers.pool.check()
    directory = drivers.pool.snapshot_dir(snapshot.id)
    journal = await drivers.store.begin_operation("", "remove snapshot", {"snapshot": snapshot.id})
    steps = Steps("remove snapshot", fault=drivers.fault)

    async def show_again() -> None:
        if directory.exists() and drivers.store.snapshot(snapshot.id) is None:
            await drivers.store.add_snapshot(snapshot)

    steps.undo("show it again", show_again)
    try:
        await steps.run("forget", lambda: drivers.store.delete_snapshot(snapshot.id))
        await steps.run("discard", lambda: asyncio.to_thread(drivers.pool.discard, directory))
    except BaseException:
        await to_the_end(steps.unwind())
        raise
    finally:
        await to_the_end(drivers.store.end_operation(journal))


def left_versions(drivers: Drivers, begun: Collection[str]) -> list[Path]:
    """What a killed daemon left of snapshots: versions older than what is on record, and of those with a `begun`
    operation all that are not on record. Anything else that nobody knows is somebody's, and stays."""
    pool, recorded = drivers.pool, {found.id: found for found in drivers.store.snapshots()}
    left: list[Path] = []
    for directory in pool.snapshot_dirs():
        found, broken_off = recorded.get(directory.name), directory.name in begun
        version = found.version if found else 0
        if version:
            kept = pool.snapshot_dir(directory.name, version)
            older = [pool.snapshot_dir(directory.name, number) for number in range(1, version)]
            left += [path for path in directory.iterdir() if path != kept and (broken_off or path in older)]
        elif broken_off:
            left.append(directory)
    return left
