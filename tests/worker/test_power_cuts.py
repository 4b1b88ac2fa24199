"""The power goes at every step: a real filesystem is cut off without its log, mounted again, and a new daemon starts.

XFS is told to shut down without flushing anything: what nobody has synced is gone, as after a power cut of the host;
mounting replays its journal. Store, pool and workers are the real ones, guests and their processes fakes, and none of
those outlives the cut.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.model import GIB, CheckpointStatus, MachineStatus
from openboxd.pool.directory import Kind
from tests.lab import run
from tests.worker.outcomes import called_web, whole
from tests.worker.test_faults import ACTIONS, points, prepared  # noqa: F401  (a fixture)
from tests.worker.world import LIMIT, OWNER, World

CUT = ("save", "restore", "remove", "stop", "reboot", "rename", "destroy", "new", "hibernate", "wake")
"""Operations of one machine. The others share their steps with these, or run no machine."""

FELL_ASLEEP = {"hibernate": ("after show", "before end", "after end"), "wake": ("before load", "after resume")}
"""Points from which a machine is hibernated when the power is back."""

OVER = {
    "restore": ("web", "old"),
    "restore-stopped": ("web", "old"),
    "wake": ("web", "new"),
    "fork": ("other", "new"),
    "fork-stopped": ("other", "new"),
    "fork-checkpoint": ("other", "old"),
    "new-from-snapshot": ("other", "old"),
}
"""Operations that give a machine a copy of a disk; which machine, and what its disk holds when they are over."""

SIZE = 3 * GIB


class Disk:
    """A filesystem whose power can be cut."""

    def __init__(self, directory: Path) -> None:
        self.image, self.mnt = directory / "disk.xfs", directory / "mnt"
        self.mnt.mkdir()
        with self.image.open("wb") as file:
            file.truncate(SIZE)  # sparse: what is really written are some megabytes
        run("mkfs.xfs", "-q", "-m", "reflink=1", self.image)
        self._mount()

    def _mount(self) -> None:
        run("mount", "-t", "xfs", "-o", "loop,noatime,nouuid", self.image, self.mnt)

    def cut(self) -> None:
        """From now on nothing reaches it, not even what it has in its log's buffers."""
        run("xfs_io", "-x", "-c", "shutdown", self.mnt)

    def again(self) -> None:
        """The power is back, with what was on the disk.

        It is mounted from a copy: the dead filesystem lives on if a mount namespace of somebody else has it, too.
        """
        self.close()
        copy = self.image.with_name("copy.xfs")
        run("cp", "--sparse=always", self.image, copy)
        copy.rename(self.image)
        self._mount()

    def close(self) -> None:
        run("umount", self.mnt)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    disk = Disk(tmp_path)
    yield disk
    disk.close()


def test_what_is_not_synced_is_gone_and_what_is_stays(disk: Disk) -> None:
    """The instrument itself: it would find a missing sync."""
    for name in ("synced", "unsynced"):
        (disk.mnt / name).write_text(name)
    with (disk.mnt / "synced").open() as file:
        os.fsync(file.fileno())
    (disk.mnt / "renamed").write_text("x" * 9000)
    (disk.mnt / "renamed").rename(disk.mnt / "later")
    disk.cut()
    disk.again()
    assert (disk.mnt / "synced").read_text() == "synced"
    assert not (disk.mnt / "later").exists() or (disk.mnt / "later").read_bytes() != b"x" * 9000


async def cut_at(world: World, disk: Disk, point: str, name: str) -> None:
    """Carry out an operation during which the power goes at `point`; nothing of the host is left afterwards."""
    reached = asyncio.Event()

    def fault(passed: str) -> None:
        if passed == point and not reached.is_set():
            disk.cut()
            reached.set()
            world.switch.kill()
        world.switch.check()

    world.fault = fault
    action = asyncio.ensure_future(ACTIONS[name](world))
    async with asyncio.timeout(LIMIT):
        await reached.wait()
    action.cancel()
    await asyncio.wait([action])
    if not action.cancelled():
        action.exception()
    await gone(world)


async def gone(world: World) -> None:
    """Nothing of the host is left, after its power was cut."""
    world.drop()
    world.host.close()
    await asyncio.sleep(0)


async def powered_on(home: Path, kind: Kind = "copy") -> World:
    """The host has booted again; machines that ran run again."""
    world = World(home)
    world.pool_kind, world.host_boot = kind, "boot 2"
    await world.start()
    try:
        await world.until(lambda: world.leftovers() == [])
    except BaseException:
        await world.close()
        raise
    return world


@pytest.mark.parametrize("name", CUT)
async def test_at_every_step(name: str, points: dict[str, list[str]], disk: Disk) -> None:  # noqa: F811
    for number, point in enumerate(points[name]):
        home = disk.mnt / str(number)
        await cut_at(await prepared(home), disk, point, name)
        disk.again()
        world = await powered_on(home)
        try:
            await called_web(world)
            if name != "destroy":
                assert "web" in [machine.name for machine in world.control.machines(OWNER)], point
            found = {c.name: c.status for m in world.control.machines(OWNER) for c in world.store.checkpoints(m.id)}
            if name not in ("remove", "destroy"):
                assert found["good"] is CheckpointStatus.READY, point
            if point == "after ready":
                assert found["new"] is CheckpointStatus.READY, "it may have been told to somebody"
            if found and world.control.machine(OWNER, "web").status is MachineStatus.RUNNING:
                assert await world.sh("read file") in ("old", "new"), f"{point}: the disk is not there"
            if point in FELL_ASLEEP.get(name, ()):
                assert world.control.machine(OWNER, "web").status is MachineStatus.HIBERNATED, point
                assert await world.sh("get v") == "new\n", "its memory survived the power cut"
            await whole(world)
        finally:
            await world.close()


@pytest.mark.parametrize("kind", ["reflink", "copy"])
async def test_once_it_is_over_the_disk_lasts(kind: Kind, disk: Disk) -> None:
    """Nothing carries it out again now, and what the disk was copied from may be gone."""
    for name, (machine, expected) in OVER.items():
        home = disk.mnt / name
        world = await prepared(home, name, kind)
        await ACTIONS[name](world)
        await world.settled(machine)
        disk.cut()
        world.switch.dead = True
        await gone(world)
        disk.again()
        world = await powered_on(home, kind)
        try:
            assert world.control.machine(OWNER, machine).status is MachineStatus.RUNNING, name
            assert await world.sh("read file", machine) == expected, name
        finally:
            await world.close()
