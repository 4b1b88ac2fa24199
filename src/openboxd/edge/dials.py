"""The dials of a gate: so many at a time, and given up together when what they lead to is swapped away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from openboxd.edge.streams import Stream

Dial = Callable[[], Awaitable[Stream]]
"""Connects to the guest's port. Raises OSError if the guest refuses or does not answer."""


class Dials:
    """Dials under way.

    Attributes:
        places: one for each dial that may be under way.
    """

    def __init__(self, limit: int) -> None:
        self.places = asyncio.Semaphore(limit)
        self._under_way: set[asyncio.Future[Stream]] = set()

    async def once(self, dial: Dial) -> Stream | OSError | None:
        """The guest, or why it cannot be reached, or None if the dial was given up."""
        dialling = asyncio.ensure_future(dial())
        self._under_way.add(dialling)
        try:
            await asyncio.wait({dialling})
        except asyncio.CancelledError:
            dialling.cancel()
            dialling.add_done_callback(_drop)
            raise
        finally:
            self._under_way.discard(dialling)
        if dialling.cancelled():
            return None
        error = dialling.exception()
        if error is None:
            return dialling.result()
        if not isinstance(error, OSError):
            raise error
        return error

    def give_up(self) -> None:
        """Give up those that are under way."""
        for dialling in self._under_way:
            dialling.cancel()


def _drop(dialling: asyncio.Future[Stream]) -> None:
    """Close what a dial brought that nobody waits for any more."""
    if not dialling.cancelled() and dialling.exception() is None:
        dialling.result().close(reset=True)
