"""Work that has to be done even if the daemon is started anew meanwhile: for that it waits, and then tries again."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from openboxd.cli.output import note
from openboxd.cli.state import State
from openboxd.errors import Busy, Interrupted, OutcomeUnknown, Unavailable

if TYPE_CHECKING:
    from openboxd.client.client import Client

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds for which a daemon that is away, or a machine that is busy, is waited for."""

PAUSE = 0.5
TRIES = 5
"""How often work is begun that a daemon which answers does not carry out."""

PASSING = (Unavailable, Busy, Interrupted, OutcomeUnknown)
"""What may be over in a moment: a daemon that is away or went while it worked, or another operation."""


def patiently(state: State, waiting: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do `work`, which must be harmless twice, once a daemon is there and nothing else is under way on the machine.

    The work itself is not interrupted by Ctrl-C; waiting for the daemon is. `waiting` is said when that begins.

    Raises: BoxdError, as the work does; KeyboardInterrupt.
    """
    end, tries, told = time.monotonic() + PATIENCE, 0, False
    while True:
        try:
            with _uninterrupted():
                return state.run(work)
        except PASSING as error:
            tries += not isinstance(error, Busy) and _answers(state)
            if tries >= TRIES or time.monotonic() > end:
                raise
        if not told:
            note(waiting)
            told = True
        time.sleep(PAUSE)


def _answers(state: State) -> bool:
    """Whether there is a daemon now."""
    try:
        state.run(lambda client: client.whoami())
    except PASSING:
        return False
    return True


@contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
