"""A service over fakes with three users: the owner of the host, and two whom they added."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from openboxd.model import Caller, Machine
from tests.worker.world import OWNER, World


@dataclass
class People:
    """The world, its owner, and users `bob` and `eve`."""

    world: World
    owner: Caller
    bob: Caller
    eve: Caller

    def speaking(self, machine: Machine) -> Caller:
        """The machine itself as a caller."""
        return Caller(machine.owner_id, "", machine.id)

    async def join(self, who: Caller, role: str = "member", org: str = "team") -> None:
        """Invite a user into the owner's organization, and let them join."""
        _, token = await self.world.control.invite(self.owner, org, "somebody", role)
        await self.world.control.accept_invite(who, token)


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    world = World(tmp_path)
    control = await world.start()
    callers = [control.authenticate((await control.add_user(OWNER, name))[1]) for name in ("bob", "eve")]
    yield People(world, OWNER, *callers)
    await world.close()
