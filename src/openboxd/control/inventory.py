"""What there is at this moment, counted for the metrics."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from openboxd.control.ports import ControlStore
from openboxd.errors import BoxdError
from openboxd.metrics import Metrics
from openboxd.model import CheckpointStatus
from openboxd.ports import Pool

CAPTURES_EVERY = 60.0
"""Seconds for which the count of captures' bytes holds: it asks the filesystem for every extent of every capture."""


class Inventory:
    """Brings the metrics of what exists up to date when they are asked for."""

    def __init__(self, store: ControlStore, pool: Pool, metrics: Metrics) -> None:
        self._store, self._pool, self._metrics = store, pool, metrics
        self._counted_at = float("-inf")
        self._turn = asyncio.Lock()

    async def text(self) -> bytes:
        """The metrics in Prometheus' text format. What a pool that does not answer would tell is left as it was."""
        async with self._turn:
            self._metrics.show_machines(Counter(str(machine.status) for machine in self._store.machines()))
            try:
                space = await asyncio.to_thread(self._pool.space)
                self._metrics.show_pool(space.total_bytes, space.free_bytes)
                if time.monotonic() - self._counted_at >= CAPTURES_EVERY:
                    self._metrics.show_captures(*await asyncio.to_thread(self._captures))
                    self._counted_at = time.monotonic()
            except (BoxdError, OSError) as error:
                self._metrics.failed(error)
        return self._metrics.text()

    def _captures(self) -> tuple[int, int]:
        own = shared = 0
        for machine in self._store.machines():
            for checkpoint in self._store.checkpoints(machine.id):
                if checkpoint.status is CheckpointStatus.READY:
                    usage = self._pool.usage(self._pool.checkpoint_dir(machine.id, checkpoint.id))
                    own, shared = own + usage.exclusive_bytes, shared + usage.shared_bytes
        return own, shared
