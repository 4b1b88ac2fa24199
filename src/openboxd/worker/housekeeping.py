"""What a daemon does now and then: keep logs small, forget failed saves after a while, have a reserve."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from openboxd.errors import BoxdError
from openboxd.host import reserve
from openboxd.host.holes import data_ranges, punch_hole
from openboxd.model import MIB, CheckpointStatus, SnapshotStatus
from openboxd.ports import Pool, Store
from openboxd.worker.metering import Meter

EVERY = 60.0
"""Seconds between rounds."""

CONSOLE_KEPT = 4 * MIB
"""Bytes at the end of a machine's console that are kept; a guest that prints for ever must not fill the pool."""

LOG_MOST = MIB
"""Bytes that the log of a process of ours may take. It lies in the host's memory, and a guest that misuses its
devices makes QEMU complain as often as it likes."""

LOG_KEPT = 64 * 1024
"""Bytes at the end of a log that are kept when it took more: errors quote the last lines."""

LOOK_EVERY = 1.0
"""Seconds between looks at the logs; the look after one that found a log too long comes much sooner."""

LOOK_AGAIN = 0.05

BLOCK = 4096
"""Holes are punched in whole blocks of the filesystem."""

FAILED_KEPT_MS = 3_600_000
"""A failed checkpoint or snapshot stays listed for an hour, so that a client that polls for the outcome sees it."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def keep_house(store: Store, pool: Pool, home: Path, run_dir: Path) -> AsyncIterator[None]:
    """Keep house while the block runs."""
    tasks = [
        asyncio.create_task(_rounds(store, pool, home), name="housekeeping"),
        asyncio.create_task(_hold_logs(run_dir), name="logs of processes"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _rounds(store: Store, pool: Pool, home: Path) -> None:
    async def keep() -> None:
        await one_round(store, pool, time.time_ns() // 1_000_000)
        await asyncio.to_thread(reserve.keep, home)

    meter = Meter(store, pool)
    while True:
        for work in (keep, meter.round):  # what frees space comes first, and neither keeps the other from its work
            try:
                await work()
            except (BoxdError, OSError) as error:
                log.warning("a round of housekeeping failed: %s", error)
        await asyncio.sleep(EVERY)


async def one_round(store: Store, pool: Pool, now_ms: int) -> None:
    """Everything once; safe beside whatever the machines do."""
    for machine in store.machines():
        await asyncio.to_thread(trim_console, pool.machine_dir(machine.id) / "console.log")
        for checkpoint in store.checkpoints(machine.id):
            failed = checkpoint.status is CheckpointStatus.FAILED
            if failed and now_ms - checkpoint.created_at_ms > FAILED_KEPT_MS:
                await store.delete_checkpoint(checkpoint.id)
    for snapshot in store.snapshots():
        failed = snapshot.status is SnapshotStatus.FAILED
        if failed and now_ms - snapshot.tried_at_ms > FAILED_KEPT_MS:
            await store.delete_snapshot(snapshot.id)


def trim_console(path: Path) -> None:
    """Free all but the end of a console; see `_trim`."""
    _trim(path, CONSOLE_KEPT)


async def _hold_logs(run_dir: Path) -> None:
    while True:
        long = await asyncio.to_thread(trim_logs, run_dir)
        for _ in range(round(LOOK_EVERY / LOOK_AGAIN)) if long else ():
            await asyncio.sleep(LOOK_AGAIN)
            await asyncio.to_thread(_trim_all, long)
        if not long:
            await asyncio.sleep(LOOK_EVERY)


def trim_logs(run_dir: Path) -> list[Path]:
    """Free all but the end of the logs that have become too long; which those were.

    They are those of QEMU and its savers, one directory below, of pasta and of the keeper of sockets."""
    return _trim_all(_logs(run_dir))


def _trim_all(paths: Iterable[Path]) -> list[Path]:
    """A log that cannot be trimmed keeps no other one from it."""
    found = []
    for path in paths:
        try:
            if _trim(path, LOG_KEPT, LOG_MOST):
                found.append(path)
        except OSError as error:
            log.warning("%s is not held small: %s", path, error)
    return found


def _logs(directory: Path, deeper: int = 1) -> Iterator[Path]:
    """Those that take more than they may, by the filesystem's count. Sockets of gates, whose names users choose, are
    no files."""
    try:
        entries = list(os.scandir(directory))
    except OSError:  # of a run that has ended
        return
    for entry in entries:
        if entry.name.endswith((".log", ".err")) and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_blocks * 512 > LOG_MOST:
                    yield Path(entry.path)
        elif deeper and entry.is_dir(follow_symlinks=False):
            yield from _logs(Path(entry.path), deeper - 1)


def _trim(path: Path, kept: int, most: int = 0) -> bool:
    """Free all but the last `kept` bytes of a log that holds more than `most`; offsets in the file stay as they are.

    Whether something was freed. It may be appended to meanwhile. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        size = os.fstat(descriptor).st_size
        begin = next((start for start, _ in data_ranges(descriptor)), size)
        end = (size - kept) // BLOCK * BLOCK
        if begin >= end or size - begin <= most:
            return False
        punch_hole(descriptor, begin, end - begin)
        return True
    finally:
        os.close(descriptor)
