"""Templates: made after a build, by order and in the background; new machines go on from them, or boot."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.control import warming
from openboxd.errors import OperationFailed, WrongState
from openboxd.model import GIB, MIB, MachineStatus, Progress, Size
from openboxd.worker.admission import RESERVE_BYTES
from openboxd.worker.template import template_dir
from tests.worker.world import OWNER, World

SIZE = Size(1, 512 * MIB)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """An idle host with an image that was built, and templates switched on."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr("openboxd.host.memory.host_memory", lambda: 64 * GIB)
    world = World(tmp_path)
    world.warm = True
    await world.start()
    await world.image()
    world.steps.clear()
    yield world
    await world.close()


async def warm(world: World, size: Size = SIZE) -> Path:
    """Keep the image warm for a size; where its template lies."""
    async for _ in world.control.warm_image(OWNER, "", size.vcpu, size.memory_bytes):
        pass
    return template_dir(world.pool, "d1", size)


def booted(world: World) -> bool:
    """Whether anything was booted since the steps were last cleared."""
    return "before launch" in world.steps


async def test_a_build_ends_with_a_template_for_the_default_size(world: World) -> None:
    assert template_dir(world.pool, "d1", Size(2, 8 * GIB)).exists()
    assert world.leftovers() == []


async def test_a_build_that_is_not_to_warm_makes_none(world: World) -> None:
    (image,) = world.control.images(OWNER)
    settings = replace(world.drivers.settings, warm_builds=False)
    asked = warming.Warming(replace(world.drivers, settings=settings))
    steps: list[Progress] = []
    await asked.after_build(replace(image, digest="d2"), steps.append)
    assert asked.is_on and not steps
    assert not template_dir(world.pool, "d2", Size(2, 8 * GIB)).exists()


async def test_a_new_machine_goes_on_from_the_template_as_itself(world: World) -> None:
    await warm(world)
    world.steps.clear()
    first, second = await world.machine("web"), await world.machine("shop")
    assert not booted(world)
    assert [m.status for m in (first, second)] == [MachineStatus.RUNNING] * 2
    assert (first.source, first.size) == ("", SIZE)
    assert await world.sh("hostname; boots") == "web\n1\n"
    assert await world.sh("hostname; boots", "shop") == "shop\n1\n"
    await world.sh("set v web; write file web")
    assert await world.sh("get v", "shop") == "get: 'v'\n"
    await world.control.reboot_machine(OWNER, "web")
    assert await world.sh("read file; hostname; boots") == "webweb\n2\n"
    assert world.leftovers() == []


async def test_the_first_save_shares_with_the_template(world: World) -> None:
    await warm(world)
    await world.machine()
    await world.save("good")
    found = world.store.checkpoint(world.control.machine(OWNER, "web").id, "good")
    assert found is not None and found.written_bytes < 200, "as much as the new identity and the counter take"


async def test_a_size_without_a_template_boots_and_gets_one(world: World) -> None:
    (image,) = world.control.images(OWNER)
    assert SIZE not in world.control.warm_sizes(image)
    new = NewMachine(name="web", vcpu=SIZE.vcpu, memory_bytes=SIZE.memory_bytes)
    assert world.control.boots_first(await world.control.create_machine(OWNER, new))
    await world.settled("web")
    assert booted(world)
    await world.until(lambda: template_dir(world.pool, "d1", SIZE).exists())
    assert SIZE in world.control.warm_sizes(image)
    world.steps.clear()
    assert not world.control.boots_first(await world.machine("shop"))
    assert not booted(world)


async def test_a_busy_host_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    looked: list[float] = []

    async def later(seconds: float) -> None:
        looked.append(seconds)
        monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))

    monkeypatch.setattr(warming, "pause", later)
    await world.machine()
    await world.until(lambda: template_dir(world.pool, "d1", SIZE).exists())
    assert looked == [warming.LOOK_AGAIN]


async def test_other_hardware_makes_a_template_useless_until_it_is_made_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = await warm(world)
    before = (directory / "manifest.json").read_bytes()

    async def newer(size: Size) -> dict[str, object]:
        return {"machine": "newer", "size": {"vcpu": size.vcpu, "memory_bytes": size.memory_bytes}}

    monkeypatch.setattr(world.hypervisor, "plan", newer)
    monkeypatch.setattr("tests.fakes.hypervisor._plan", lambda size: {"machine": "newer", "size": vars(size)})
    world.steps.clear()
    await world.machine()
    assert booted(world)
    await world.until(lambda: (directory / "manifest.json").exists() and before not in _read(directory))
    world.steps.clear()
    await world.machine("shop")
    assert not booted(world)


def _read(directory: Path) -> list[bytes]:
    """The manifest, if it is there at this moment."""
    try:
        return [(directory / "manifest.json").read_bytes()]
    except FileNotFoundError:
        return []


@pytest.mark.parametrize("file", ["devices.state", "manifest.json", "memory.img"])
async def test_a_damaged_template_costs_a_boot(world: World, file: str) -> None:
    directory = await warm(world)
    (directory / file).write_bytes(b"rubbish")
    world.steps.clear()
    assert (await world.machine()).status is MachineStatus.RUNNING
    assert booted(world) and await world.sh("hostname") == "web\n"
    assert world.leftovers() == []


async def test_a_template_that_does_not_load_costs_a_boot(world: World) -> None:
    await warm(world)

    def fault(point: str) -> None:
        if point == "load state":
            raise OperationFailed("the capture does not load")

    world.hypervisor.fault = fault
    assert (await world.machine()).status is MachineStatus.RUNNING
    assert await world.sh("boots; hostname") == "2\nweb\n"
    assert world.leftovers() == []


async def test_a_build_does_not_fail_for_want_of_a_template(world: World) -> None:
    def fault(point: str) -> None:
        if point == "boot":
            raise OperationFailed("no guest starts here")

    world.hypervisor.fault = fault
    await world.control.remove_image(OWNER, "debian-13")
    await world.image()
    assert [image.name for image in world.control.images(OWNER)] == ["debian-13"]
    assert not (world.pool.image_dir("d1") / "template").exists()
    with pytest.raises(OperationFailed, match="no guest starts here"):
        await warm(world)
    assert world.leftovers() == []


async def test_a_template_goes_with_its_image(world: World) -> None:
    directory = await warm(world)
    await world.machine()
    with pytest.raises(WrongState, match="web"):
        await world.control.remove_image(OWNER, "debian-13")
    await world.control.destroy_machine(OWNER, "web")
    await world.control.remove_image(OWNER, "debian-13")
    assert not directory.exists()


async def test_where_it_is_switched_off_nothing_is_made_or_used(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.start()
    await world.image()
    assert not (world.pool.image_dir("d1") / "template").exists()
    await warm(world)
    world.steps.clear()
    await world.machine()
    assert booted(world)
    await world.close()


async def test_labels_and_routes_are_those_of_the_new_machine(world: World) -> None:
    await warm(world)
    new = replace(NewMachine(name="web", vcpu=1, memory_bytes=512 * MIB), labels={"a": "b"}, routes=[("api", 80)])
    await world.control.create_machine(OWNER, new)
    machine = await world.settled()
    assert machine.labels == {"a": "b"}
    assert [view.route.name for view in await world.control.routes(OWNER, "web")] == ["", "api"]


def sizes_kept(world: World) -> list[str]:
    """The sizes that the image is warm for."""
    return sorted(path.name for path in template_dir(world.pool, "d1", SIZE).parent.iterdir())


async def test_the_template_that_was_not_used_for_longest_makes_room(world: World) -> None:
    for memory in (512, 514, 516):  # the default size has one since the build
        await warm(world, Size(1, memory * MIB))
    await world.machine("web")
    await warm(world, Size(1, 518 * MIB))
    assert sizes_kept(world) == ["1x512", "1x514", "1x516", "1x518"]
    await warm(world, Size(1, 520 * MIB))
    assert sizes_kept(world) == ["1x512", "1x516", "1x518", "1x520"], "a machine was made from the first"
    assert world.leftovers() == []


async def test_a_template_in_use_is_not_the_one_to_go(world: World) -> None:
    with world.host.hold("load state") as hold:
        await warm(world)
        new = NewMachine(name="web", vcpu=1, memory_bytes=512 * MIB)
        await world.control.create_machine(OWNER, new)
        await hold.reached()
        for memory in range(514, 524, 2):
            await warm(world, Size(1, memory * MIB))
        assert sizes_kept(world) == ["1x512", "1x518", "1x520", "1x522"]
    assert (await world.settled()).status is MachineStatus.RUNNING
    await warm(world, Size(1, 524 * MIB))
    assert sizes_kept(world) == ["1x518", "1x520", "1x522", "1x524"]


async def test_a_wish_without_room_does_not_keep_others_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    big, real = Size(1, 2 * GIB), world.pool.space
    room = RESERVE_BYTES + SIZE.memory_bytes // 4
    monkeypatch.setattr(world.pool, "space", lambda: replace(real(), free_bytes=room))
    monkeypatch.setattr(warming, "pause", lambda seconds: asyncio.sleep(0.01))
    for name, size in (("big", big), ("web", SIZE)):
        await world.control.create_machine(OWNER, NewMachine(name=name, vcpu=1, memory_bytes=size.memory_bytes))
        await world.settled(name)
    await world.until(lambda: template_dir(world.pool, "d1", SIZE).exists())
    assert not template_dir(world.pool, "d1", big).exists()
