"""The agent of this package's tests runs on this host; see `rig`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from openboxd.guest.connector import ChannelAgent
from tests.guest.rig import Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    await rig.start()
    yield rig
    await rig.clean()


@pytest.fixture
async def agent(rig: Rig) -> AsyncIterator[ChannelAgent]:
    agent = await rig.connect()
    yield agent
    await agent.close("the test is over")
