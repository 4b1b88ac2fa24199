"""Looking at something again and again: when it is time, and whenever something has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from openboxd.errors import BoxdError

LOOK_AGAIN = 30.0
"""Seconds between looks while nothing is due sooner."""

SOONEST = 0.05
"""Seconds between rounds at least: what fails is tried again, but not in a tight loop."""

log = logging.getLogger(__name__)


class Rounds:
    """Makes rounds, one after the other.

    Args:
        name: what is looked at, for people: "idle timers".
        look: makes a round; seconds until the next one. A BoxdError is told, and it is called again.
    """

    def __init__(self, name: str, look: Callable[[], Awaitable[float]]) -> None:
        self._name, self._look = name, look
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look; once."""
        self._task = asyncio.create_task(self._watch(), name=self._name)

    async def close(self) -> None:
        """Stop looking. Harmless twice."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def changed(self) -> None:
        """Look now."""
        self._changed.set()

    async def _watch(self) -> None:
        while True:
            self._changed.clear()
            try:
                pause = await self._look()
            except BoxdError as error:
                log.warning("%s were not looked at: %s", self._name, error)
                pause = LOOK_AGAIN
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                continue
