"""Commands in a guest: one after the other, and many at a time."""

from __future__ import annotations

import asyncio
import time

from bench.figures import spread
from bench.place import Place
from bench.result import Result, Row
from tests.guests.direct import sh
from tests.lab import GOLDEN

AT_ONCE = 20


async def run(place: Place) -> Result:
    """`true`, over one connection."""
    count = 20 if place.options.short else 200
    alone = []
    place.tell(f"{count} commands")
    for _ in range(count):
        begun = time.monotonic()
        await sh(place.client, "true")
        alone.append(1000 * (time.monotonic() - begun))
    begun = time.monotonic()
    await asyncio.gather(*(sh(place.client, "true") for _ in range(AT_ONCE)))
    together = 1000 * (time.monotonic() - begun)
    row: Row = {
        "machine": GOLDEN,
        "runs": count,
        "alone": spread(alone),
        f"{AT_ONCE} at once": together,
    }
    return Result("exec", "exec true (milliseconds)", [row])
