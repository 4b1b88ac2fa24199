"""What there is at this moment, counted for the metrics."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter

from openboxd.control.holdings import held
from openboxd.control.ports import ControlStore
from openboxd.errors import BoxdError
from openboxd.metrics import Metrics
from openboxd.model import Space
from openboxd.ports import Pool

HELD_EVERY = 300.0
"""Seconds from one count of what holds bytes of the pool to the next, if somebody asks: it makes the filesystem write
what guests have written lately, and asks it for every extent of every file."""

PATIENCE = 2.0
"""Seconds that who asks for the metrics waits for such a count; it goes on, and what was counted before is told."""

log = logging.getLogger(__name__)


class Inventory:
    """Brings the metrics of what exists up to date when they are asked for."""

    def __init__(self, store: ControlStore, pool: Pool, metrics: Metrics) -> None:
        self._store, self._pool, self._metrics = store, pool, metrics
        self._begun_at = float("-inf")
        self._count: asyncio.Task[None] | None = None
        self._closing = threading.Event()

    async def text(self) -> bytes:
        """The metrics in Prometheus' text format. What a pool that does not answer would tell is left as it was."""
        self._metrics.show_machines(Counter(str(machine.status) for machine in self._store.machines()))
        try:
            space = await asyncio.to_thread(self._space)
            self._metrics.show_pool(space.total_bytes, space.free_bytes)
        except (BoxdError, OSError) as error:
            self._metrics.failed(error, "scrape")
        await self._counted()
        return self._metrics.text()

    async def close(self) -> None:
        """Count nothing any more. A count under way ends with the file that it looks at."""
        self._closing.set()
        if self._count is not None:
            self._count.cancel()
            await asyncio.wait([self._count])

    def _space(self) -> Space:
        self._pool.check()
        return self._pool.space()

    async def _counted(self) -> None:
        """Begin a count of what holds bytes of the pool if one is due, and wait a moment for one under way."""
        is_due = time.monotonic() - self._begun_at >= HELD_EVERY and not self._closing.is_set()
        if is_due and (self._count is None or self._count.done()):
            self._begun_at = time.monotonic()
            self._count = asyncio.create_task(self._count_held(), name="count what holds bytes of the pool")
        if self._count is not None and not self._count.done():
            await asyncio.wait([self._count], timeout=PATIENCE)

    async def _count_held(self) -> None:
        try:
            machines = [machine.id for machine in self._store.machines()]
            images = [image.digest for image in self._store.images()]
            found = await asyncio.to_thread(held, self._pool, machines, images, self._closing.is_set)
            self._metrics.show_held(found, time.time())
        except (BoxdError, OSError) as error:
            log.warning("what holds bytes of the pool was not counted: %s", error)
            self._metrics.failed(error, "scrape")
