"""A directory in the staging area that is dropped whatever becomes of the step that makes it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from openboxd.ports import Pool
from openboxd.worker.steps import Steps


class Staging:
    """Made by a step whose undo is armed before: a step that failed may still have made the directory."""

    def __init__(self, pool: Pool, label: str) -> None:
        self._pool, self._label = pool, label
        self._path: Path | None = None

    async def make(self, steps: Steps) -> Path:
        """Run the step `stage`; the directory it made."""
        steps.undo("drop the staging directory", self._drop)
        return await steps.run("stage", self._make)

    async def _make(self) -> Path:
        self._path = await asyncio.to_thread(self._pool.stage, self._label)
        return self._path

    async def _drop(self) -> None:
        if self._path is not None:
            await asyncio.to_thread(self._pool.discard, self._path)
