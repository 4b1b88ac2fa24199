"""Turns: a few at a time do what takes a processor, so that many who are asked at once all come to their end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE = 5.0
"""Seconds after which one that is not done makes room for the next, and goes on beside it. Many times what an
undisturbed one takes: what waits longer than that does not work, and must not keep others from it."""


class Turns:
    """Twice as many at a time as the host has processors, since each also waits; first come, first served."""

    def __init__(self, places: int = 0, patience: float = PATIENCE) -> None:
        self._places = asyncio.Semaphore(places or 2 * (os.cpu_count() or 1))
        self._patience = patience

    @property
    def all_taken(self) -> bool:
        """Whoever comes now has to wait."""
        return self._places.locked()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """For the time of the block have a turn; waits for it."""
        await self._places.acquire()
        had = True

        def give_back() -> None:
            nonlocal had
            if had:
                had = False
                self._places.release()

        timer = asyncio.get_running_loop().call_later(self._patience, give_back)
        try:
            yield
        finally:
            timer.cancel()
            give_back()
