"""What forks are made of: a machine put aside, shared by all who asked before that began."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from openboxd.errors import OperationFailed
from openboxd.ports import Pool
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Fork


class _Take:
    """A directory with the machine in it, once the task is done, and how many wait for it or use it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.directory: Path | None = None
        self.users = 0


class Takes:
    """One at a time of each machine: ten forks at once cost two captures, not ten."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._next: dict[str, _Take] = {}  # by machine: what those share who come before it begins
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, worker: MachineWorker, actor: str) -> AsyncIterator[Path]:
        """The machine as it is at some moment from now on, for the time of the block.

        Raises:
            BoxdError: it cannot be forked now, or it failed; the machine is as it was.
        """
        take = self._next.get(worker.id)
        if take is None:
            take = self._next[worker.id] = _Take()
            take.task = asyncio.create_task(self._carry_out(take, worker, actor), name=f"{worker.id}: for forks")
        take.users += 1
        try:
            assert take.task is not None
            await asyncio.shield(take.task)
            if take.directory is None:
                raise OperationFailed("the machine was not put aside; try again")
            yield take.directory
        finally:
            take.users -= 1
            if not take.users and take.directory is not None:
                await asyncio.to_thread(self._pool.discard, take.directory)

    async def _carry_out(self, take: _Take, worker: MachineWorker, actor: str) -> None:
        turn = self._turns.setdefault(worker.id, asyncio.Lock())
        async with turn:
            del self._next[worker.id]
            take.directory = await asyncio.to_thread(self._pool.stage, "fork")
            await worker.submit(Fork(take.directory), actor).done()
