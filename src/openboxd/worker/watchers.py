"""Those who watch a machine's progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from openboxd.model import Progress

WATCH_DEPTH = 256
"""Progress items kept for a watcher that does not keep up; older ones are dropped."""


class Watchers:
    """Tells every watcher what is reported; none can hold up the others, or an operation.

    Who comes in the middle of an operation is told first where it is: a step may take long.
    """

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._queues: set[asyncio.Queue[Progress]] = set()

    def __len__(self) -> int:
        return len(self._queues)

    def report(self, progress: Progress) -> None:
        """Tell the watchers; one that does not keep up loses the oldest items."""
        self._last = progress
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(progress)

    def forget(self) -> None:
        """The operation has ended: nobody is told of it any more."""
        self._last = None

    async def watch(self) -> AsyncIterator[Progress]:
        """Where the operation under way is, and progress from now on, until closed."""
        queue: asyncio.Queue[Progress] = asyncio.Queue(WATCH_DEPTH)
        if self._last is not None:
            queue.put_nowait(self._last)
        self._queues.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)
