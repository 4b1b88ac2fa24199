"""Setting a guest's clock: measure how far it is off, then move it once."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

from openboxd.guest import wire
from openboxd.guest.epoch import Epoch

log = logging.getLogger(__name__)

FIRST_PINGS = 8
LATER_PINGS = 4
GOOD_TRIP_NS = 1_000_000  # measured within half of it: more pings would only hold up the machine's first answer
FIRST_STEP_NS = 1_000_000  # what a measurement cannot tell from nothing anyway
LATER_STEP_NS = 20_000_000  # a clock that jumps disturbs more than one that is a little off


async def correct(epoch: Epoch, *, first: bool) -> None:
    """Measure until an answer was quick, several times at most; tell the guest to move its clock if it is worth it.

    The quickest answer is believed. Waits without limit for the answers, but not beyond the epoch.
    """
    best_trip, offset = 0, 0
    for _ in range(FIRST_PINGS if first else LATER_PINGS):
        sample = await _measure(epoch)
        if sample is None:
            return
        if best_trip == 0 or sample[0] < best_trip:
            best_trip, offset = sample
        if best_trip <= GOOD_TRIP_NS:
            break
    if abs(offset) > (FIRST_STEP_NS if first else LATER_STEP_NS):
        epoch.send(wire.frame(wire.CTL, 0, json.dumps({"shift": offset}).encode("ascii")))
    log.debug("a guest's clock was %+d us off, measured within %d us", offset // 1000, best_trip // 2000)


async def _measure(epoch: Epoch) -> tuple[int, int] | None:
    """Round trip and how far the guest is behind, in nanoseconds; None if the epoch is over."""
    before, sent = time.time_ns(), time.monotonic_ns()
    _, answer = epoch.ping()
    waiting: set[asyncio.Future[Any]] = {answer, epoch.over}
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not answer.done():
        return None
    trip = max(1, time.monotonic_ns() - sent)
    return trip, before + trip // 2 - answer.result()[1]
