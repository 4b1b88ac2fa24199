"""The guest's clock and random generator, which stood still while it was stored."""

from __future__ import annotations

import fcntl
import os
import struct
import time

RNDADDENTROPY = 0x40085203
RNDRESEEDCRNG = 0x5207
FAR_AHEAD_NS = 30 * 1_000_000_000


def reseed(seed: bytes) -> None:
    """Mix the host's seed in and make the kernel use it at once: two copies of one memory would otherwise give out
    the same numbers."""
    fd = os.open("/dev/urandom", os.O_WRONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, RNDADDENTROPY, struct.pack(f"ii{len(seed)}s", len(seed) * 8, len(seed), seed))
        fcntl.ioctl(fd, RNDRESEEDCRNG)
    finally:
        os.close(fd)


def set_from_greeting(now_ns: int) -> None:
    """Set the clock to what the host said a moment ago.

    A stored guest is behind. One that seems a little ahead only got the greeting late: it is left to the
    measured correction that follows.
    """
    ahead = time.time_ns() - now_ns
    if ahead < 0 or ahead > FAR_AHEAD_NS:
        time.clock_settime_ns(time.CLOCK_REALTIME, now_ns)


def shift(offset_ns: int) -> None:
    """Move the clock by a measured difference."""
    time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() + offset_ns)
