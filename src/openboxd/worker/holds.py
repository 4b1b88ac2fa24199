"""Captures that are in use for a moment: while a machine is being made from one, its bytes stay.

Once the new run has loaded it nothing is needed any more: files are unlinked, never truncated, and the run has them
open. So holds live in memory; who holds something does not outlive the daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.worker.steps import to_the_end

Discard = Callable[[Path], None]


class Holds:
    """Who holds which capture."""

    def __init__(self) -> None:
        self._users: dict[Path, list[str]] = {}
        self._unwanted: dict[Path, Discard] = {}

    @asynccontextmanager
    async def hold(self, capture: Path, user: str) -> AsyncIterator[None]:
        """Keep a capture for the time of the block, for `user`: a name for people."""
        self._users.setdefault(capture, []).append(user)
        try:
            yield
        finally:
            self._users[capture].remove(user)
            if not self._users[capture]:
                del self._users[capture]
                if discard := self._unwanted.pop(capture, None):
                    await to_the_end(asyncio.to_thread(discard, capture))

    def users(self, directory: Path) -> list[str]:
        """Who holds a capture in this directory."""
        return sorted({user for path, users in self._users.items() if directory in path.parents for user in users})

    async def drop(self, capture: Path, discard: Discard) -> None:
        """Discard a capture that nobody will ask for again: now, or when the last one who holds it lets go."""
        if capture in self._users:
            self._unwanted[capture] = discard
        else:
            await asyncio.to_thread(discard, capture)
