"""A service over fakes, and machines whose processes come to its doors: no guest, the real server and commands."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from openboxd.api.inside import Inside
from openboxd.api.server import serve_inside
from openboxd.errors import Interrupted
from tests.worker.world import World

LIMIT = 60.0


class Visitor:
    """Implements ports.GuestConnection: the daemon's end of a connection; `said` and `heard` are the guest's."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.heard = bytearray()
        self.closed = asyncio.Event()
        self.lost = ""
        self.reading = asyncio.Event()
        self.reading.set()
        self._news = asyncio.Event()

    # -- the daemon's side
    async def read(self) -> bytes:
        if self.lost:
            raise Interrupted(self.lost)
        data = await self.said.get()
        if self.lost:
            raise Interrupted(self.lost)
        return data or b""

    async def write(self, data: bytes) -> None:
        await self.reading.wait()
        if self.lost:
            raise Interrupted(self.lost)
        self.heard += data
        self._news.set()

    def write_eof(self) -> None:
        self._news.set()

    def close(self) -> None:
        self.closed.set()
        self.said.put_nowait(None)
        self._news.set()

    # -- the guest's
    def say(self, data: bytes) -> None:
        self.said.put_nowait(data)

    def leave(self) -> None:
        self.said.put_nowait(None)

    def lose(self, reason: str = "machine web was restored") -> None:
        """As when the epoch ends."""
        self.lost = reason
        self.reading.set()
        self.said.put_nowait(None)

    async def more(self, than: int) -> None:
        """Until more was heard, or the connection is closed."""
        while len(self.heard) <= than and not self.closed.is_set():
            self._news.clear()
            await self._news.wait()

    async def until(self, text: bytes) -> bytes:
        """What was heard, once it holds this."""
        async with asyncio.timeout(LIMIT):
            while text not in self.heard:
                self._news.clear()
                await self._news.wait()
        return bytes(self.heard)


@dataclass
class Doors:
    """The daemon's doors, and who stands at them."""

    world: World
    inside: Inside
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def run_of(self, name: str = "web") -> str:
        return next(machine.run_id for machine in self.world.store.machines() if machine.name == name)

    def machine_id(self, name: str = "web") -> str:
        return next(machine.id for machine in self.world.store.machines() if machine.name == name)

    def knock(self, door: str, name: str = "web", run_id: str = "") -> tuple[Visitor, asyncio.Task[None]]:
        """Somebody in a machine connects."""
        visitor = Visitor()
        task = asyncio.create_task(self.inside.visit(run_id or self.run_of(name), door, visitor))
        task.add_done_callback(lambda _: visitor.close())
        self.tasks.append(task)
        return visitor, task


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """With a machine web that runs."""
    base = Path(tempfile.mkdtemp(prefix="boxd-in-"))
    base.chmod(0o755)
    world = World(base / "home")
    await world.start()
    await world.machine()
    yield world
    await world.close()
    shutil.rmtree(base)


@pytest.fixture
async def doors(world: World) -> AsyncIterator[Doors]:
    """With a machine web that runs."""
    async with doors_of(world) as opened:
        yield opened


@asynccontextmanager
async def doors_of(world: World) -> AsyncIterator[Doors]:
    """The doors of a daemon that serves while the block runs; another one can follow."""
    async with serve_inside(world.control, world.home.parent / "run") as inside:
        opened = Doors(world, inside)
        yield opened
        for task in opened.tasks:
            task.cancel()
        await asyncio.gather(*opened.tasks, return_exceptions=True)
