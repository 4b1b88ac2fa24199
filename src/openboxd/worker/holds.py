"""Captures that are in use for a moment: while a machine is made from one, or a save shares with it, its bytes stay.

Once a new run has loaded it nothing is needed any more: files are unlinked, never truncated, and the run has them
open. So holds live in memory; who holds something does not outlive the daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from openboxd.errors import BoxdError
from openboxd.worker.job import Job
from openboxd.worker.steps import to_the_end

Discard = Callable[[Path], None]


class Holds:
    """Which capture is held, and why."""

    def __init__(self) -> None:
        self._reasons: dict[Path, list[str]] = {}
        self._unwanted: dict[Path, Discard] = {}
        self._freed = asyncio.Event()
        self.leaving: set[Path] = set()  # directories of captures being removed: nobody begins to hold one of these

    @asynccontextmanager
    async def hold(self, capture: Path, why: str) -> AsyncIterator[None]:
        """Keep a capture for the time of the block; `why` is a clause for people: "machine 'a' is made from it"."""
        self._reasons.setdefault(capture, []).append(why)
        try:
            yield
        finally:
            self._reasons[capture].remove(why)
            if not self._reasons[capture]:
                del self._reasons[capture]
                self._freed.set()
                self._freed = asyncio.Event()
                if discard := self._unwanted.pop(capture, None):
                    await to_the_end(asyncio.to_thread(discard, capture))

    def is_held(self, capture: Path) -> bool:
        """Whether somebody needs this capture now."""
        return capture in self._reasons

    def reasons(self, directory: Path) -> list[str]:
        """Why captures in this directory are held; empty if none is."""
        return sorted({why for path, found in self._reasons.items() if directory in path.parents for why in found})

    async def until_free(self, directory: Path) -> None:
        """Wait until this capture, or every capture in this directory, is held by nobody."""
        while any(path == directory or directory in path.parents for path in self._reasons):
            await self._freed.wait()

    async def drop(self, capture: Path, discard: Discard) -> None:
        """Discard a capture that nobody will ask for again: now, or when the last one who holds it lets go."""
        if capture in self._reasons:
            self._unwanted[capture] = discard
        else:
            await asyncio.to_thread(discard, capture)


async def let_go_after(job: Job, held: AsyncExitStack) -> None:
    """Let captures go once a job does not need them any more, whatever became of it."""
    async with held:
        with suppress(BoxdError):
            await job.done()
