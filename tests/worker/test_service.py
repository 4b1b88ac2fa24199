"""The real service keeps the contract that API and CLI are tested against."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.control.control import Control
from tests.contracts.service import ServiceContract
from tests.worker.world import World


class TestControl(ServiceContract):
    @pytest.fixture
    async def service(self, tmp_path: Path) -> AsyncIterator[Control]:
        world = World(tmp_path / "home")
        await world.start()
        await world.machine("web")
        yield world.control
        await world.close()
