"""A guest whose write finds the pool full stands still instead of seeing an error, and goes on when there is room.

QEMU pauses the vCPUs at such a write (`werror=enospc`, its default) and keeps the request. `cont` tries it again; if
there is still no room QEMU pauses them once more. It is tried when there is some room, not for every block that
becomes free: what little there is belongs to the daemon, whose store may lie on the same filesystem.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from openboxd.model import MIB
from openboxd.qemu.qmp import Monitor, QmpError

TRY_EVERY = 1.0
"""Seconds between attempts to let a stalled guest go on."""

SETTLE = 0.2
"""Seconds in which a guest that still finds no room is paused again."""

ROOM = 64 * MIB
"""Free bytes of the filesystem from which on a stalled guest is let go on."""

STALLED = "io-error"
"""QEMU's word for vCPUs that were paused by a write that failed."""

log = logging.getLogger(__name__)

Told = Callable[[bool], None]
"""Hears True when the guest stands still, and False when it goes on."""

Free = Callable[[], int]
"""Free bytes of the filesystem that the guest's disk lies on. Raises OSError."""


async def watch(monitor: Monitor, told: Told, free: Free) -> None:
    """Watch a run, until cancelled or its monitor is gone. One that stands still already is noticed too."""
    try:
        with monitor.listen("BLOCK_IO_ERROR") as events:
            while True:
                if await _stalled(monitor):
                    told(True)
                    await _let_go_on(monitor, free)
                    told(False)
                await events.get()
                await asyncio.sleep(SETTLE)  # the pause comes a moment after the event
    except (QmpError, OSError) as error:
        log.debug("a run is not watched for a full disk any more: %s", error)


async def _let_go_on(monitor: Monitor, free: Free) -> None:
    while await _stalled(monitor):
        await asyncio.sleep(TRY_EVERY)
        if await asyncio.to_thread(free) >= ROOM and await _stalled(
            monitor
        ):  # nobody else has paused or resumed it meanwhile
            await monitor.ask("cont")
            await asyncio.sleep(SETTLE)


async def _stalled(monitor: Monitor) -> bool:
    return bool((await monitor.ask("query-status"))["status"] == STALLED)
