"""Fixtures of the worker's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worker.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A world with a daemon and no machine."""
    world = World(tmp_path)
    await world.start()
    yield world
    await world.close()
