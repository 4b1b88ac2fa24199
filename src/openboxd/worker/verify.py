"""Read a whole capture and compare it with its digests. Nothing is changed, and nothing waits for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from openboxd.errors import WrongState, checkpoint_not_found
from openboxd.host import digests
from openboxd.model import CheckpointStatus, Damage, Progress, Verification
from openboxd.worker import manifest
from openboxd.worker.machine import MachineWorker

BEAT = 0.2
"""Seconds between two items of progress."""


class _Left(Exception):
    """Nobody waits for the verdict any more."""


class Reading:
    """One capture being read in a thread."""

    def __init__(self, capture: Path) -> None:
        self._capture = capture
        self._left = threading.Event()
        self.read_bytes = 0
        self.all_bytes = 1
        self.file = manifest.NAME

    def leave(self) -> None:
        """Stop at the next piece."""
        self._left.set()

    def run(self, name: str) -> Verification:
        """Read everything. Blocks. Raises _Left."""
        began = time.monotonic()
        try:
            described, content = manifest.load(self._capture)
        except (OSError, ValueError, KeyError, TypeError) as error:
            return Verification(name, 0, 0, (manifest.damage(error),))
        if described["format"] == 1:
            return Verification(name, 0, 0, sealed=False)
        self.all_bytes = 1 + sum(_data_bytes(content[file]) for file in manifest.FILES)
        found: list[Damage] = []
        for self.file in manifest.FILES:
            found += digests.damages(self._capture, self.file, content[self.file], self._on_piece)
        return Verification(name, self.read_bytes, round(1000 * (time.monotonic() - began)), tuple(found))

    def _on_piece(self, size: int) -> None:
        self.read_bytes += size
        if self._left.is_set():
            raise _Left


def _data_bytes(described: Mapping[str, Any]) -> int:
    return len([piece for piece in described["pieces"] if piece != digests.HOLE]) * digests.PIECE


async def verify(worker: MachineWorker, name: str) -> AsyncIterator[Progress | Verification]:
    """Progress, then what was found, as the last item.

    Raises:
        NotFound: no such checkpoint, or it was removed meanwhile. WrongState: it is not ready.
        HostUnfit: the pool is not mounted.
    """
    store, machine = worker.drivers.store, worker.machine
    checkpoint = store.checkpoint(worker.id, name)
    if checkpoint is None:
        raise checkpoint_not_found(name, machine.name)
    if checkpoint.status is not CheckpointStatus.READY:
        raise WrongState(
            f"checkpoint '{name}' on machine '{machine.name}' is {checkpoint.status}; only a ready one is verified"
        )
    worker.drivers.pool.check()
    async with aclosing(read_whole(worker.drivers.pool.checkpoint_dir(worker.id, checkpoint.id), name)) as items:
        async for item in items:
            now = store.checkpoint(worker.id, name)
            if isinstance(item, Verification) and (now is None or now.id != checkpoint.id):
                raise checkpoint_not_found(name, machine.name)
            yield item


async def read_whole(capture: Path, name: str) -> AsyncGenerator[Progress | Verification]:
    """Progress, then what was found in the capture that is called `name`, as the last item."""
    reading = Reading(capture)
    task = asyncio.ensure_future(asyncio.to_thread(reading.run, name))
    try:
        while not task.done():
            yield Progress("verify", reading.file, min(1.0, reading.read_bytes / reading.all_bytes))
            await asyncio.wait([task], timeout=BEAT)
        yield task.result()
    finally:
        reading.leave()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
