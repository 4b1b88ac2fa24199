"""What a guest sends that nobody asked for: some of it is honest, and without end it would only cost us.

Answers to calls that were given up, and what an earlier epoch left in the port, come by the thousand at most. Reading
on and throwing away is no defence against a guest that sends more: it takes most of a core. Nor is not reading, which
costs guests buffers (see `channel`). So there is an allowance, and an end.
"""

from __future__ import annotations

import time

from openboxd.guest.violation import Violation

AT_ONCE = 20_000
"""Useless frames that may come in one go. Reading them takes a tenth of a second."""

RATE = 2_000.0
"""Further ones a second: a hundredth of a core."""

BYTES = 4096
"""Bytes that are no frames and count as one."""

SMALL_CREDIT = 8192
"""An agent grants credit in quarters of a window; less than this at a time is of no use to anybody."""


class Useless:
    """Counts, over all epochs of one channel."""

    def __init__(self) -> None:
        self._left = float(AT_ONCE)
        self._at = time.monotonic()

    def count(self, frames: int = 1) -> None:
        """Raises Violation once the allowance is used up."""
        self._left -= frames
        if self._left >= 0:
            return
        now = time.monotonic()
        self._left = min(AT_ONCE, self._left + (now - self._at) * RATE)
        self._at = now
        if self._left < 0:
            self._left = 0.0
            raise Violation("it sends what nobody asked for, without end")
