"""Progress on a terminal: the steps that control and workers really take, shown while they are taken."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from openboxd.api.server import serve
from openboxd.model import Progress
from tests.cli.conftest import Boxd
from tests.worker.world import OWNER, FakeBuilder, World


class SlowBuilder(FakeBuilder):
    """Builds when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Event()

    async def build(self, name, staging, report):
        report(Progress("build", "make the disk", 0.85))
        await self.may.wait()
        return await super().build(name, staging, report)


@asynccontextmanager
async def serving(tmp_path, builder=None):
    """A world and its `boxd`."""
    world = World(tmp_path / "home")
    if builder is not None:
        world.builder = builder
    (tmp_path / "user").mkdir()
    control = await world.start()
    try:
        _, key = await control.create_api_key(OWNER, "cli", 0)
        async with serve(control, "127.0.0.1:0") as address:
            yield world, Boxd(address, tmp_path / "user", key)
    finally:
        await world.close()


@pytest.fixture
async def served(tmp_path):
    async with serving(tmp_path) as both:
        await both[0].machine()
        yield both


async def watched(world, boxd, *argv, begin, end, word):
    """Run a command that is held at two points; it must show `word` before it is let past the second."""
    worker = world.control.team.worker(world.control.machine(OWNER, "web").id)
    with world.host.hold(begin) as first, world.host.hold(end) as second:
        command = asyncio.create_task(boxd.on_terminal(*argv, until=word, reply=second.release))
        await first.reached(60)
        await world.until(lambda: worker.watchers)
        first.release()
        status, shown = await command
    assert status == 0, shown
    assert word in shown
    return shown


async def test_a_build(tmp_path):
    builder = SlowBuilder()
    async with serving(tmp_path, builder) as (_, boxd):
        status, shown = await boxd.on_terminal("image", "build", until=b"make the disk", reply=builder.may.set)
    assert status == 0, shown
    assert b"make the disk" in shown
    assert b"is ready" in shown


async def test_a_build_without_a_terminal_says_each_step(tmp_path):
    builder = SlowBuilder()
    builder.may.set()
    async with serving(tmp_path, builder) as (world, boxd):
        done = await boxd("image", "build")
        assert (done.status, done.err) == (0, "building the default image: make the disk\n")
        await world.control.remove_image(OWNER, "debian-13")
        done = await boxd("image", "build", "--json")
        assert (done.status, done.err) == (0, "")


async def test_a_save(served):
    command = ("machine", "checkpoint", "save", "web", "one")
    shown = await watched(*served, *command, begin="save memory", end="save pause", word=b"memory")
    assert b"paused for" in shown


async def test_a_restore(served):
    await served[0].save("one")
    command = ("machine", "checkpoint", "restore", "web", "one", "-y")
    shown = await watched(*served, *command, begin="load", end="resume", word=b"resume")
    assert b"is back at checkpoint one" in shown


async def test_without_a_terminal_nothing_is_shown(served):
    _, boxd = served
    done = await boxd("machine", "checkpoint", "save", "web", "one")
    assert (done.status, done.err) == (0, "")
