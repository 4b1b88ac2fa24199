"""How long the daemon's end of a channel waits, and how much it puts up with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds, and how often a guest may make us begin anew.

    Attributes:
        first_wait, last_wait: how long an answer to a SYNC is waited for; doubled from the first to the last.
        identity_wait: for the agent to say that its guest is who it was told to be.
        clock_wait: for the measurements of the clock at the beginning of an epoch.
        clock_period: between later corrections; each wait is up to a third longer, so that machines spread.
        silence: without a sign of life from a guest that is waited for, until callers are told so.
        restarts, restart_window: more than so many restarts by the guest in so many seconds, and it is given up.
    """

    first_wait: float = 0.7
    last_wait: float = 8.0
    identity_wait: float = 20.0
    clock_wait: float = 8.0
    clock_period: float = 40.0
    silence: float = 20.0
    restarts: int = 30
    restart_window: float = 60.0
