"""How many templates of an image are kept, and which one goes: sizes are people's choice, and there are many.

A directory's time of change tells when it was used last, so that a new daemon knows as well.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

from openboxd.worker.drivers import Drivers

KEPT = 4
"""Templates of one image at most. Each holds a booted guest's memory in the pool."""


def note_use(template: Path) -> None:
    """That a machine is made from a template. One that has gone meanwhile is no matter."""
    now = time.time_ns()
    with suppress(FileNotFoundError):
        os.utime(template, ns=(now, now))


async def trim(drivers: Drivers, newest: Path) -> None:
    """Drop those beside a template that were not used for longest, until no more than KEPT are left.

    One that is in use stays, even if that leaves more: it is looked at again with the next template.
    """
    beside = [path for path in newest.parent.iterdir() if path != newest]
    idle = sorted((path for path in beside if not drivers.holds.is_held(path)), key=_used)
    for template in idle[: max(0, len(beside) + 1 - KEPT)]:
        if drivers.holds.is_held(template):  # by now: the one before took its time to go
            continue
        drivers.holds.leaving.add(template)  # from here on nobody begins to use it
        try:
            await asyncio.to_thread(drivers.pool.discard, template)
        finally:
            drivers.holds.leaving.discard(template)


def _used(template: Path) -> int:
    """When it was used last, nanoseconds."""
    return template.stat().st_mtime_ns
