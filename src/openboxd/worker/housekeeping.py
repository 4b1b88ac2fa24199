"""What a daemon does now and then: keep console logs small, forget failed saves after a while, have a reserve."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.errors import BoxdError
from openboxd.host import reserve
from openboxd.host.holes import punch_hole
from openboxd.model import MIB, CheckpointStatus, SnapshotStatus
from openboxd.ports import Pool, Store
from openboxd.worker.metering import Meter

EVERY = 60.0
"""Seconds between rounds."""

CONSOLE_KEPT = 4 * MIB
"""Bytes at the end of a machine's console that are kept; a guest that prints for ever must not fill the pool."""

BLOCK = 4096
"""Holes are punched in whole blocks of the filesystem."""

FAILED_KEPT_MS = 3_600_000
"""A failed checkpoint or snapshot stays listed for an hour, so that a client that polls for the outcome sees it."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def keep_house(store: Store, pool: Pool, home: Path) -> AsyncIterator[None]:
    """Keep house while the block runs."""
    task = asyncio.create_task(_rounds(store, pool, home), name="housekeeping")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


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
    """Free all but the end of a log that QEMU appends to; offsets in the file stay as they are."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        surplus = os.fstat(descriptor).st_size - CONSOLE_KEPT
        if surplus >= BLOCK:
            punch_hole(descriptor, 0, surplus - surplus % BLOCK)
    finally:
        os.close(descriptor)
