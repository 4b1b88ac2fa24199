"""A guest whose write finds the pool full stands still instead of seeing an error, and goes on when there is room.

QEMU pauses the vCPUs at such a write (`werror=enospc`, its default) and keeps the request. `cont` tries it again; if
there is still no room QEMU pauses them once more. So trying is all it takes, without knowledge of the filesystem.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from openboxd.qemu.qmp import Monitor, QmpError

TRY_EVERY = 1.0
"""Seconds between attempts to let a stalled guest go on."""

SETTLE = 0.2
"""Seconds in which a guest that still finds no room is paused again."""

STALLED = "io-error"
"""QEMU's word for vCPUs that were paused by a write that failed."""

log = logging.getLogger(__name__)

Told = Callable[[bool], None]
"""Hears True when the guest stands still, and False when it goes on."""


async def watch(monitor: Monitor, told: Told) -> None:
    """Watch a run, until cancelled or its monitor is gone. One that stands still already is noticed too."""
    try:
        with monitor.listen("BLOCK_IO_ERROR") as events:
            while True:
                if await _stalled(monitor):
                    told(True)
                    await _let_go_on(monitor)
                    told(False)
                await events.get()
                await asyncio.sleep(SETTLE)  # the pause comes a moment after the event
    except QmpError as error:
        log.debug("a run is not watched for a full disk any more: %s", error)


async def _let_go_on(monitor: Monitor) -> None:
    while await _stalled(monitor):
        await asyncio.sleep(TRY_EVERY)
        if await _stalled(monitor):  # nobody else has paused or resumed it meanwhile
            await monitor.ask("cont")
            await asyncio.sleep(SETTLE)


async def _stalled(monitor: Monitor) -> bool:
    return bool((await monitor.ask("query-status"))["status"] == STALLED)
