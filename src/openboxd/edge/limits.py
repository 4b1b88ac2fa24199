"""What a gate allows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a gate allows.

    Attributes:
        held: connections that may wait at one time.
        connections: connections at one time, whatever they do.
        wait: seconds one may wait.
        dials: dials at one time, so that a release is no flood.
        patience: seconds for which a held connection's dial is repeated after a refusal: what listens in a guest
            that has just been swapped or booted may need a moment.
        starting: the same for every connection, held or not, where what listens is known to come.
        retry: seconds between such dials.
    """

    held: int = 1000
    connections: int = 2000
    wait: float = 60.0
    dials: int = 64
    patience: float = 1.0
    starting: float = 0.0
    retry: float = 0.02
