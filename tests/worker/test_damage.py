"""Checkpoints that rot: damage is found, told with its place, and never half-way through a restore."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openboxd.errors import NotFound, WrongState
from openboxd.model import MIB, MachineStatus, Verification
from tests.worker.world import OWNER, World

FILES = ("manifest.json", "digests.json", "devices.state", "memory.img", "disk.raw")


async def saved(world: World) -> Path:
    """A machine with v=new whose checkpoint `good` has v=old; that checkpoint's directory."""
    machine = await world.machine()
    await world.sh("set v old; write file old")
    await world.save("good")
    await world.sh("set v new; write file new")
    checkpoint = world.store.checkpoint(machine.id, "good")
    assert checkpoint is not None
    return world.pool.checkpoint_dir(machine.id, checkpoint.id)


async def verified(world: World, name: str = "good") -> Verification:
    items = [item async for item in world.control.verify_checkpoint(OWNER, "web", name)]
    assert isinstance(items[-1], Verification)
    return items[-1]


async def refused(world: World, name: str = "good") -> str:
    """The sentence of a restore that touched nothing."""
    before, processes, points = world.control.machine(OWNER, "web"), len(world.host.processes), list(world.steps)
    with pytest.raises(WrongState) as error:
        await world.control.restore_checkpoint(OWNER, "web", name)
    assert world.control.machine(OWNER, "web") == before
    assert len(world.host.processes) == processes and world.steps == points, "not one step was entered"
    assert await world.sh("get v; read file") == "new\nnew"
    assert world.leftovers() == []
    return error.value.message


def missing(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    os.truncate(path, 0)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 2)


def longer(path: Path) -> None:
    os.truncate(path, path.stat().st_size + 4096)


def hollow(path: Path) -> None:
    """As long as before, but without its data: what a filesystem may leave after a power cut."""
    size = path.stat().st_size
    os.truncate(path, 0)
    os.truncate(path, size)


def flip(path: Path) -> None:
    """One bit in the middle of what is not zero."""
    data = path.read_bytes()
    place = len(data.rstrip(b"\0")) // 2
    with path.open("r+b") as file:
        file.seek(place)
        file.write(bytes([data[place] ^ 1]))


def pipe(path: Path) -> None:
    """Opening it would wait for a writer for ever."""
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    """A name that leads elsewhere, even to the very same content."""
    elsewhere = path.with_name(f"{path.name}.elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("spoil", [missing, empty, cut, longer, hollow, flip, pipe, link])
async def test_any_damage_is_found_and_a_restore_refused_before_it_touches_anything(
    world: World, name: str, spoil: Callable[[Path], None]
) -> None:
    capture = await saved(world)
    assert (await verified(world)).ok
    kept = (capture / name).read_bytes()
    spoil(capture / name)

    found = await verified(world)
    assert not found.ok and found.damages[0].file == name, found
    if name in ("memory.img", "disk.raw") and spoil is flip:  # only reading it all tells: that is what verify is for
        assert (found.damages[0].start, found.damages[0].text) == (0, "is not what it was")
    else:
        assert "is damaged and cannot be restored: " + name in await refused(world)

    (capture / name).unlink(missing_ok=True)
    (capture / name).write_bytes(kept)
    assert (await verified(world)).ok
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert await world.sh("get v; read file") == "old\nold"


async def test_a_manifest_of_endless_brackets_is_damage_like_any_other(world: World) -> None:
    capture = await saved(world)
    (capture / "manifest.json").write_text("[" * 100_000)
    assert "is damaged and cannot be restored" in await refused(world)
    assert not (await verified(world)).ok


async def test_a_damaged_checkpoint_is_removed_like_any_other_and_its_name_is_free(world: World) -> None:
    capture = await saved(world)
    for name in FILES:
        (capture / name).unlink()
    await refused(world)
    await world.control.remove_checkpoint(OWNER, "web", "good")
    await world.save("good")
    assert (await verified(world)).ok


async def test_damage_of_one_checkpoint_is_no_matter_for_the_next_save(world: World) -> None:
    """The parent of a save is only a hint for sharing, also when it has rotted away."""
    capture = await saved(world)
    for name in ("digests.json", "manifest.json"):
        flip(capture / name)
    await world.save("next")
    assert (await verified(world, "next")).ok
    await world.sh("set v newer")
    await world.control.restore_checkpoint(OWNER, "web", "next")
    assert await world.sh("get v") == "new\n"


async def test_a_stopped_machine_stays_stopped_when_its_checkpoint_is_damaged(world: World) -> None:
    capture = await saved(world)
    await world.control.stop_machine(OWNER, "web")
    cut(capture / "devices.state")
    with pytest.raises(WrongState, match="damaged"):
        await world.control.restore_checkpoint(OWNER, "web", "good")
    assert world.control.machine(OWNER, "web").status is MachineStatus.STOPPED
    assert world.leftovers() == []


async def test_a_checkpoint_without_digests_can_be_restored_and_is_not_called_good(world: World) -> None:
    capture = await saved(world)
    old = json.loads((capture / "manifest.json").read_text())
    del old["digest"], old["digests"]
    (capture / "manifest.json").write_text(json.dumps(old | {"format": 1}))
    (capture / "digests.json").unlink()
    found = await verified(world)
    assert not found.ok and not found.sealed and found.damages == ()
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert await world.sh("get v") == "old\n"


async def test_a_newer_format_is_refused_with_the_numbers(world: World) -> None:
    capture = await saved(world)
    content = json.loads((capture / "manifest.json").read_text())
    (capture / "manifest.json").write_text(json.dumps(content | {"format": 9}))
    assert "has format 9, this boxd reads 2" in await refused(world)


async def test_only_a_ready_checkpoint_is_verified(world: World) -> None:
    await saved(world)
    with pytest.raises(NotFound):
        await verified(world, "nothing")
    with world.host.hold("save memory"):
        await world.control.save_checkpoint(OWNER, "web", "slow")
        with pytest.raises(WrongState, match="is pending"):
            await verified(world, "slow")
    await world.settled()


async def test_a_checkpoint_removed_while_it_is_read_is_not_found(world: World) -> None:
    await saved(world)
    reading = world.control.verify_checkpoint(OWNER, "web", "good")
    await anext(reading)
    await world.control.remove_checkpoint(OWNER, "web", "good")
    with pytest.raises(NotFound):
        async for _ in reading:
            pass
    assert world.leftovers() == []


async def test_a_reader_who_leaves_ends_the_reading(world: World) -> None:
    capture = await saved(world)
    with (capture / "disk.raw").open("r+b") as file:
        for number in range(64):
            file.seek(number * MIB)
            file.write(b"x" * MIB)
    reading = world.control.verify_checkpoint(OWNER, "web", "good")
    await anext(reading)
    await reading.aclose()
    assert (await verified(world)).damages
