"""The states of a machine and the moves between them.

    pending ──► starting ──► running ──► stopped        running ◄──► suspended ──► hibernated
       │           │  ▲        │  ▲         │                                          ▲
       │           ▼  │        ▼  │         ▼           running ───────────────────────┘
       │         stopped ◄─ starting ──► failed         suspended, hibernated ──► starting, stopped
       │                                                suspended ──► failed
       └──────────────► destroying ──► destroyed        (from every state)

`starting` covers boot, reboot, restore and wake: whatever happens inside them, nobody sees `stopped` or `failed`
before the operation has ended. The table below is the drawing; `tests/worker/test_states.py` compares the two.
"""

from __future__ import annotations

from openboxd.model import MachineStatus as S

MOVES: dict[S, frozenset[S]] = {
    S.PENDING: frozenset({S.STARTING, S.STOPPED, S.DESTROYING}),
    S.STARTING: frozenset({S.RUNNING, S.STOPPED, S.FAILED, S.DESTROYING}),
    S.RUNNING: frozenset({S.STARTING, S.SUSPENDED, S.HIBERNATED, S.STOPPED, S.FAILED, S.DESTROYING}),
    S.SUSPENDED: frozenset({S.RUNNING, S.STARTING, S.HIBERNATED, S.STOPPED, S.FAILED, S.DESTROYING}),
    S.HIBERNATED: frozenset({S.STARTING, S.STOPPED, S.DESTROYING}),
    S.STOPPED: frozenset({S.STARTING, S.DESTROYING}),
    S.FAILED: frozenset({S.STARTING, S.DESTROYING}),
    S.DESTROYING: frozenset({S.DESTROYED}),
    S.DESTROYED: frozenset(),
}

ASLEEP = frozenset({S.SUSPENDED, S.HIBERNATED})
"""Whoever uses a machine in one of these wakes it."""

assert MOVES.keys() == set(S), "a new state needs its moves"


def may_move(old: S, new: S) -> bool:
    """Whether a machine may go from `old` to `new`; staying is always allowed."""
    return old == new or new in MOVES[old]
