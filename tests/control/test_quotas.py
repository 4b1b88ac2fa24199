"""Quotas: refused with the numbers before anything starts, exact for orders that come together."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.control import quotas
from openboxd.errors import BoxdError, Exhausted, WrongState
from openboxd.model import GIB, MIB, Machine, MachineStatus, Quota
from tests.worker.world import OWNER, World

LESS = "or ask the owner of this host for more"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.start()
    await world.image()
    yield world
    await world.close()


async def limit(world: World, **values: int) -> None:
    await world.store.set_quota(OWNER.user_id, Quota(**values))


async def make(world: World, name: str, vcpu: int = 1, memory: int = 512 * MIB) -> Machine:
    return await world.control.create_machine(OWNER, NewMachine(name=name, vcpu=vcpu, memory_bytes=memory))


async def refusals(*work: object) -> list[BoxdError]:
    """What came of doing all that at once: the refusals."""
    done = await asyncio.gather(*work, return_exceptions=True)  # type: ignore[call-overload]
    found = [error for error in done if isinstance(error, BaseException)]
    assert all(isinstance(error, BoxdError) for error in found), found
    return found


async def test_a_machine_too_many(world: World) -> None:
    await limit(world, machines=2)
    await make(world, "one")
    await world.settled("one")
    await world.control.stop_machine(OWNER, "one")  # still counts
    await make(world, "two")
    await world.settled("two")
    world.steps.clear()
    with pytest.raises(Exhausted) as caught:
        await make(world, "three")
    assert caught.value.message == (
        "machine 'three' was not made and nothing was started: its owner has 2 of 2 machines, "
        f"and 1 more were asked for; remove one, {LESS}"
    )
    assert world.steps == [] and {m.name for m in world.control.machines(OWNER)} == {"one", "two"}
    await world.control.destroy_machine(OWNER, "one")
    await make(world, "three")
    await world.settled("three")


async def test_machines_that_are_made_together_do_not_exceed(world: World) -> None:
    await limit(world, machines=3, vcpu=5)
    found = await refusals(*(make(world, f"m{number}", vcpu=2) for number in range(6)))
    assert len(found) == 4 and all(isinstance(error, Exhausted) for error in found)
    assert len(world.control.machines(OWNER)) == 2
    for machine in world.control.machines(OWNER):
        await world.settled(machine.name)


async def test_only_what_runs_takes_vcpus_and_memory(world: World) -> None:
    for name in ("one", "two", "three"):
        await make(world, name)
        await world.settled(name)
        await world.control.stop_machine(OWNER, name)
    await limit(world, memory_bytes=GIB)
    found = await refusals(*(world.control.start_machine(OWNER, name) for name in ("one", "two", "three")))
    assert [type(error) for error in found] == [Exhausted]
    assert found[0].message == (
        "start of machine 'three' was refused; it is stopped: its owner has 1.0 GiB of 1.0 GiB of memory of running "
        f"machines, and 0.5 GiB more were asked for; stop a machine, {LESS}"
    )
    assert world.control.machine(OWNER, "three").status is MachineStatus.STOPPED
    await world.control.stop_machine(OWNER, "one")
    await world.control.start_machine(OWNER, "three")
    await world.control.reboot_machine(OWNER, "three")  # takes nothing that it does not have


async def test_a_resize(world: World) -> None:
    await world.machine()
    await limit(world, vcpu=2, memory_bytes=GIB)
    with pytest.raises(Exhausted, match=r"3 more were asked for"):
        await world.control.resize_machine(OWNER, "web", 3, 512 * MIB)
    assert world.control.machine(OWNER, "web").size.vcpu == 1
    await world.control.resize_machine(OWNER, "web", 2, GIB)
    await world.control.stop_machine(OWNER, "web")
    await world.control.resize_machine(OWNER, "web", 4, GIB)  # at rest it takes nothing
    with pytest.raises(Exhausted):
        await world.control.start_machine(OWNER, "web")


async def test_a_restore_takes_the_captured_size(world: World) -> None:
    await world.machine()
    await world.control.resize_machine(OWNER, "web", 4, GIB)
    await world.save("big")
    await world.control.resize_machine(OWNER, "web", 1, 512 * MIB)
    await limit(world, memory_bytes=768 * MIB)
    await world.save("small")
    with pytest.raises(WrongState, match=r"restore of 'big' .* was refused; it is running: .* 1\.0 GiB more"):
        await world.control.restore_checkpoint(OWNER, "web", "big")
    await world.control.restore_checkpoint(OWNER, "web", "small")


async def test_bytes_of_the_pool(world: World) -> None:
    await world.machine()
    await world.machine("db")
    await limit(world, pool_bytes=700 * MIB)  # a first save may take all of 512 MiB
    results = await refusals(
        world.control.save_checkpoint(OWNER, "web", "one"), world.control.save_checkpoint(OWNER, "db", "one")
    )
    assert len(results) == 1 and isinstance(results[0], Exhausted)
    assert "of disks and checkpoints, and 0.5 GiB more were asked for; remove a checkpoint" in results[0].message
    for name in ("web", "db"):
        await world.settled(name)
    saved = [len(world.store.checkpoints(machine.id)) for machine in world.control.machines(OWNER)]
    assert sum(saved) == 1
    await limit(world)
    await world.save("two", "db")


@pytest.mark.parametrize("shares", [True, False])
async def test_nothing_new_is_made_once_the_bytes_are_used_up(
    world: World, monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    """A clone that shares its blocks takes nothing at first, but what is written to it later does."""
    if shares:
        monkeypatch.setattr(quotas, "allocated_bytes", lambda path: 0)
    await world.machine()
    await world.save("good")
    await world.control.save_snapshot(OWNER, "web", "base")
    await world.control.snapshot_done(OWNER, "base")
    await limit(world, pool_bytes=1)
    control = world.control
    made: list[tuple[str, Callable[[NewMachine], Awaitable[Machine]]]] = [
        ("two", lambda new: control.create_machine(OWNER, new)),
        ("three", lambda new: control.fork_machine(OWNER, "web", new)),
        ("four", lambda new: control.fork_machine(OWNER, "web", new, "good")),
        ("five", lambda new: control.create_from_snapshot(OWNER, "base", new)),
    ]
    world.steps.clear()
    for name, make_from in made:
        with pytest.raises(Exhausted) as caught:
            await make_from(NewMachine(name))
        assert re.fullmatch(
            rf"machine '{name}' was not made and nothing was started: its owner has 0\.\d GiB of 0\.0 GiB of disks "
            rf"and checkpoints, and 0\.0 GiB more were asked for; remove a checkpoint or a machine, {LESS}",
            caught.value.message,
        )
    assert world.steps == [] and [m.name for m in world.control.machines(OWNER)] == ["web"] and not world.leftovers()
    await limit(world, pool_bytes=world.control.account(OWNER).used.pool_bytes)
    with pytest.raises(Exhausted):
        await make(world, "two")
    await limit(world, pool_bytes=world.control.account(OWNER).used.pool_bytes + MIB)  # more than a copy of the image
    await make(world, "two")
    await world.settled("two")


async def test_a_machine_is_not_put_to_disk_beyond_the_quota(world: World) -> None:
    await world.machine()
    await limit(world, pool_bytes=400 * MIB)  # its memory may take 512
    with pytest.raises(Exhausted, match=r"hibernate of machine 'web' was refused; it is running: .* of disks"):
        await world.control.hibernate_machine(OWNER, "web")
    await world.control.suspend_machine(OWNER, "web")
    with pytest.raises(Exhausted, match="it is suspended"):
        await world.control.hibernate_machine(OWNER, "web")
    await limit(world, pool_bytes=2 * GIB)
    await world.control.hibernate_machine(OWNER, "web")
    assert world.control.machine(OWNER, "web").status is MachineStatus.HIBERNATED


async def test_another_user_is_not_concerned(world: World) -> None:
    await world.machine()
    await limit(world, machines=1, vcpu=1)
    user, key = await world.control.add_user(OWNER, "bob")
    bob = world.control.authenticate(key)
    assert bob.user_id == user.id
    await world.control.create_machine(bob, NewMachine(name="bobs", vcpu=8, memory_bytes=GIB))
    await world.control.team.worker(world.control.machine(bob, "bobs").id).idle()


async def test_a_machine_that_sleeps_is_not_woken_beyond_the_quota(world: World) -> None:
    """A visitor or a command wakes it, and neither asks control first."""
    await world.machine()
    await world.machine("db")
    await world.control.hibernate_machine(OWNER, "db")
    await limit(world, vcpu=1)
    with pytest.raises(Exhausted, match=r"wake of machine 'db' was refused; it is hibernated: .* 1 of 1 vCPUs"):
        await world.sh("get v", "db")
    await world.control.stop_machine(OWNER, "web")
    assert await world.sh("echo up", "db") is not None
    with pytest.raises(Exhausted):
        await world.control.start_machine(OWNER, "web")


async def test_copies_count_like_any_machine(world: World) -> None:
    await world.machine()
    await world.control.save_snapshot(OWNER, "web", "base")
    await world.control.snapshot_done(OWNER, "base")
    await limit(world, machines=2)
    found = await refusals(
        world.control.fork_machine(OWNER, "web", NewMachine("one")),
        world.control.create_from_snapshot(OWNER, "base", NewMachine("two")),
        world.control.fork_machine(OWNER, "web", NewMachine("three")),
    )
    assert [type(error) for error in found] == [Exhausted, Exhausted]
    assert len(world.control.machines(OWNER)) == 2 and world.leftovers() == []
