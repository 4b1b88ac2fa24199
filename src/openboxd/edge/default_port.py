"""Which port the default route of a machine leads to while nobody has pinned one: found from the guest's listeners.

Pure: the caller reports listeners and the time, and keeps the state. The port that is in use keeps the route for as
long as somebody listens on it. When nobody does, the most preferred of the known ports that are listened on takes
over once the candidates have been the same for a moment, so that a server that opens several ports while it starts is
judged by the whole; and a port that has just taken over is not left again for some seconds.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

KNOWN = (80, 443, 8080, 8000, 3000, 5000, 5173)
"""Ports that web servers are usually found on, the preferred ones first."""

FALLBACK = 8000
STEADY = 0.75
"""Seconds for which the candidates must have been the same."""

REST = 5.0
"""Seconds after a change during which there is no other."""


@dataclass(frozen=True)
class Watch:
    """What was seen so far. `port` is the answer; times are of the caller's clock, in seconds."""

    port: int
    changed_at: float
    candidates: frozenset[int] = frozenset()
    same_since: float = 0.0


def begin(listening: Set[int], now: float) -> Watch:
    """The watch of a machine that has just been booted."""
    return Watch(port=_preferred(listening), changed_at=now - REST)


def observe(watch: Watch, listening: Set[int], now: float) -> Watch:
    """The watch after a look at the guest's listeners."""
    if watch.port in listening:
        return replace(watch, candidates=frozenset())
    candidates = frozenset(listening).intersection(KNOWN)
    if candidates != watch.candidates:
        return replace(watch, candidates=candidates, same_since=now)
    if not candidates or now - watch.same_since < STEADY or now - watch.changed_at < REST:
        return watch
    return Watch(port=_preferred(candidates), changed_at=now)


def _preferred(listening: Set[int]) -> int:
    return next((port for port in KNOWN if port in listening), FALLBACK)
