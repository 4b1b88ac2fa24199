"""Copies of machines: they go on where their source stood, as somebody else, or are not there at all."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openboxd.api.ports import NewMachine
from openboxd.control import names
from openboxd.errors import AlreadyExists, BoxdError, Busy, InvalidArgument, NotFound, WrongState
from openboxd.model import MIB, MachineStatus, Way
from tests.worker.world import LIMIT, OWNER, World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Machine `web` runs, with v=1 in memory and a file on disk."""
    world = World(tmp_path)
    await world.start()
    await world.machine()
    await world.sh("set v 1; write file one")
    world.steps.clear()
    yield world
    await world.close()


PLAIN = NewMachine()


async def fork(
    world: World,
    name: str = "",
    checkpoint: str = "",
    source: str = "web",
    wanted: NewMachine = PLAIN,
    given: Sequence[str] = (),
) -> str:
    """Fork; the name of the copy."""
    async with asyncio.timeout(LIMIT):
        return (await world.control.fork_machine(OWNER, source, replace(wanted, name=name), checkpoint, given)).name


def untouched(world: World) -> None:
    """Nothing but the source is there, and it runs."""
    assert [(m.name, m.status) for m in world.control.machines(OWNER)] == [("web", MachineStatus.RUNNING)]
    assert world.leftovers() == []


async def test_both_go_on_apart_from_each_other(world: World) -> None:
    boot = await world.sh("boot-id")
    assert await fork(world, "twin") == "twin"
    assert await world.sh("get v; read file; hostname", "twin") == "1\noneweb\n".replace("web", "twin")
    assert await world.sh("boot-id", "twin") == boot
    await world.sh("set v 2; write file two", "twin")
    assert await world.sh("get v; read file; hostname") == "1\noneweb\n"
    web, twin = (world.control.machine(OWNER, name) for name in ("web", "twin"))
    for value in ("id", "address", "mac", "ssh_port", "run_id"):
        assert getattr(web, value) != getattr(twin, value), value
    assert (twin.source, twin.source_id, twin.size) == ("fork/web", web.id, web.size)
    await world.control.destroy_machine(OWNER, "web")
    assert await world.sh("get v", "twin") == "2\n"
    assert world.leftovers() == []


async def test_a_copy_has_the_settings_of_its_source_and_none_of_its_checkpoints_and_ports(world: World) -> None:
    await world.control.update_labels(OWNER, "web", {"app": "shop", "tier": "1"}, [], replace_all=False)
    await world.control.set_delete_after(OWNER, "web", 3600, "")
    await world.control.set_auto_suspend(OWNER, "web", 900)
    await world.control.set_idle_ignore_outbound(OWNER, "web", enabled=True)
    await world.control.expose_port(OWNER, "web", 80, "tcp")
    await world.control.create_route(OWNER, "web", "api", 80)
    await world.save("good")
    name = await fork(world, wanted=NewMachine(labels={"tier": "2"}))
    twin = world.control.machine(OWNER, name)
    assert twin.labels == {"app": "shop", "tier": "2"}
    assert twin.delete_after_secs == 3600 and twin.delete_at_ms > 0
    assert twin.auto_suspend_secs == 900 and twin.idle_ignore_outbound
    assert not await world.control.checkpoints(OWNER, name)
    assert not world.control.exposed_ports(OWNER, name)
    assert [view.route.name for view in await world.control.routes(OWNER, name)] == [""]
    await world.save("own", name)


async def test_a_setting_that_is_given_is_the_copys_own_also_if_it_is_none(world: World) -> None:
    await world.control.set_auto_suspend(OWNER, "web", 900)
    await world.control.set_auto_hibernate(OWNER, "web", 1800)
    await world.control.set_idle_ignore_outbound(OWNER, "web", enabled=True)
    never = world.control.machine(OWNER, await fork(world, given=["auto_suspend_secs", "idle_ignore_outbound"]))
    assert (never.auto_suspend_secs, never.idle_ignore_outbound, never.auto_hibernate_secs) == (0, False, 1800)
    wanted = NewMachine(auto_suspend_secs=1, auto_hibernate_secs=60)
    other = world.control.machine(OWNER, await fork(world, wanted=wanted, given=["auto_hibernate_secs"]))
    assert (other.auto_suspend_secs, other.auto_hibernate_secs) == (900, 60)


async def test_a_copy_reaches_no_more_than_its_source(world: World) -> None:
    limits = {"isolated": True, "networks": ("back",), "egress_allow": ("example.org",)}
    await world.store.update_machine(world.control.machine(OWNER, "web").id, **limits)
    twin = world.control.machine(OWNER, await fork(world))
    assert {name: getattr(twin, name) for name in limits} == limits


async def test_the_default_name_gets_a_number_when_it_is_taken(world: World) -> None:
    assert [await fork(world) for _ in range(3)] == ["web-fork", "web-fork-2", "web-fork-3"]
    assert await fork(world, source="web-fork") == "web-fork-fork"


def test_a_default_name_is_never_too_long() -> None:
    assert names.fork_name("a" * 40) == "a" * 35 + "-fork"
    assert names.fork_name("a" * 34 + "-bcdef") == "a" * 34 + "-fork"
    taken = {"a" * 35 + "-fork"}
    assert names.numbered("a" * 35 + "-fork", taken) == "a" * 35 + "-fo-2"
    names.check_machine_name(names.numbered("a" * 35 + "-fork", taken))


async def test_ten_forks_at_once_share_captures(world: World) -> None:
    with world.host.hold("save pause"):
        forks = [asyncio.ensure_future(fork(world)) for _ in range(10)]
        await world.until(lambda: len(world.control.machines(OWNER)) == 11)
    made = await asyncio.gather(*forks)
    assert len(set(made)) == 10
    assert world.steps.count("before capture") == 2
    for name in made:
        assert await world.sh("get v; hostname", name) == f"1\n{name}\n"
    machines = world.control.machines(OWNER)
    assert len({m.address for m in machines}) == len({m.mac for m in machines}) == 11
    assert world.leftovers() == []


async def test_who_asks_while_a_capture_is_taken_gets_a_later_one(world: World) -> None:
    with world.host.hold("save pause") as pause:
        first = asyncio.ensure_future(fork(world, "first"))
        await pause.reached()
        second = asyncio.ensure_future(fork(world, "second"))
        await asyncio.sleep(0)
    await asyncio.gather(first, second)
    assert world.steps.count("before capture") == 2


async def test_a_stopped_source_is_copied_from_its_disk(world: World) -> None:
    await world.control.stop_machine(OWNER, "web")
    name = await fork(world)
    assert (await world.settled(name)).status is MachineStatus.RUNNING
    assert await world.sh("read file; boots; hostname", name) == f"one2\n{name}\n"
    assert world.control.machine(OWNER, "web").status is MachineStatus.STOPPED
    assert world.leftovers() == []


@pytest.mark.parametrize("sleep", ["suspend", "hibernate"])
async def test_a_source_that_sleeps_goes_on_sleeping(world: World, sleep: str) -> None:
    await getattr(world.control, f"{sleep}_machine")(OWNER, "web")
    asleep = world.control.machine(OWNER, "web").status
    name = await fork(world)
    assert await world.sh("get v; hostname", name) == f"1\n{name}\n"
    assert world.control.machine(OWNER, "web").status is asleep
    assert await world.sh("get v; read file") == "1\none"


async def test_a_fork_from_a_checkpoint_leaves_the_source_alone(world: World) -> None:
    await world.save("good")
    await world.sh("set v 2; write file two")
    counter = await world.sh("counter")
    world.steps.clear()
    name = await fork(world, checkpoint="good")
    assert await world.sh("get v; read file; hostname", name) == f"1\none{name}\n"
    assert int(await world.sh("counter")) == int(counter) + 1
    assert "before capture" not in world.steps
    await world.control.remove_checkpoint(OWNER, "web", "good")
    assert await world.sh("get v", name) == "1\n"


async def test_what_cannot_be_forked_is_refused_and_leaves_nothing(world: World) -> None:
    with pytest.raises(AlreadyExists, match="'web' exists already"):
        await fork(world, "web")
    with pytest.raises(InvalidArgument):
        await fork(world, "../x")
    with pytest.raises(NotFound):
        await fork(world, checkpoint="none")
    with pytest.raises(NotFound):
        await fork(world, source="ghost")
    with pytest.raises(InvalidArgument, match="resize the fork afterwards"):
        await fork(world, wanted=NewMachine(memory_bytes=1024 * MIB))
    untouched(world)


async def test_a_fork_while_something_runs_is_refused_with_its_name(world: World) -> None:
    with world.host.hold("save memory") as hold:
        await world.control.save_checkpoint(OWNER, "web", "good")
        await hold.reached()
        with pytest.raises(Busy, match="save of 'good' is running"):
            await fork(world)
    await world.settled()
    assert [m.name for m in world.control.machines(OWNER)] == ["web"]


async def test_a_save_while_a_fork_runs_is_refused_with_its_name(world: World) -> None:
    with world.host.hold("save memory") as hold:
        forking = asyncio.ensure_future(fork(world))
        await hold.reached()
        with pytest.raises(Busy, match="fork is running"):
            await world.control.save_checkpoint(OWNER, "web", "good")
    await forking


async def test_a_source_that_is_removed_meanwhile_takes_its_copy_along(world: World) -> None:
    with world.host.hold("save memory") as hold:
        forking = asyncio.ensure_future(fork(world))
        await hold.reached()
        await world.control.destroy_machine(OWNER, "web")
        with pytest.raises(BoxdError, match="being removed"):
            await forking
    assert world.control.machines(OWNER) == []
    assert world.leftovers() == []


async def test_a_copy_that_is_removed_while_it_is_made_is_gone(world: World) -> None:
    with world.host.hold("load state") as hold:
        forking = asyncio.ensure_future(fork(world, "twin"))
        await hold.reached()
        await world.control.destroy_machine(OWNER, "twin")
        with pytest.raises(BoxdError):
            await forking
    untouched(world)
    with world.host.hold("save memory") as hold:
        forking = asyncio.ensure_future(fork(world, "twin"))
        await hold.reached()
        await world.control.destroy_machine(OWNER, "twin")
        hold.release()
        with pytest.raises(WrongState, match="was removed while it was made"):
            await forking
    untouched(world)


async def waiting_for_its_turn(world: World, taken: AsyncExitStack, checkpoint: str = "") -> asyncio.Future[str]:
    """A fork `twin` that comes when all turns are taken."""
    turns = world.drivers.turns
    while not turns.all_taken:
        await taken.enter_async_context(turns.one())
    forking = asyncio.ensure_future(fork(world, "twin", checkpoint))
    starting = ("twin", MachineStatus.STARTING)
    await world.until(lambda: starting in [(m.name, m.status) for m in world.control.machines(OWNER)])
    assert "before load" not in world.steps
    return forking


async def test_a_copy_waits_for_its_turn_and_can_be_removed_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.drivers.turns, "_patience", 3600.0)
    async with AsyncExitStack() as taken:
        forking = await waiting_for_its_turn(world, taken)
        await world.control.destroy_machine(OWNER, "twin")
        with pytest.raises(BoxdError):
            await forking
        untouched(world)
        forking = await waiting_for_its_turn(world, taken)
    assert await forking == "twin"
    assert not world.drivers.turns.all_taken


@pytest.mark.parametrize("removed", ["checkpoint", "machine"])
async def test_what_a_waiting_copy_is_made_from_is_there_until_it_was_made(
    world: World, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    monkeypatch.setattr(world.drivers.turns, "_patience", 3600.0)
    await world.save("one")
    (row,) = world.store.checkpoints(world.control.machine(OWNER, "web").id)
    directory = world.pool.checkpoint_dir(row.machine_id, row.id)
    async with AsyncExitStack() as taken:
        forking = await waiting_for_its_turn(world, taken, "one")
        work = (
            world.control.remove_checkpoint(OWNER, "web", "one")
            if removed == "checkpoint"
            else world.control.destroy_machine(OWNER, "web")
        )
        removing = asyncio.ensure_future(work)
        await world.until(
            lambda: (
                not world.store.checkpoints(row.machine_id)
                or world.store.machine(row.machine_id).status is MachineStatus.DESTROYING
            )
        )
        assert directory.exists()
    assert await forking == "twin"
    async with asyncio.timeout(LIMIT):
        await removing
    assert not directory.exists()
    assert await world.sh("get v", "twin") == "1\n"


@pytest.mark.parametrize("trouble", ["silent", "somebody else", "dead"])
async def test_a_copy_that_does_not_become_ready_is_removed_and_reported(world: World, trouble: str) -> None:
    with world.host.hold("load state") as hold:
        forking = asyncio.ensure_future(fork(world, "twin"))
        await hold.reached()
        process = next(p for p in world.host.alive() if p.spec.name == "twin")
        process.answers = trouble != "silent"
        process.identity_refusal = "no such card" if trouble == "somebody else" else ""
    if trouble == "dead":
        with world.host.hold("answer") as hold:
            await hold.reached()
            process.crash()
    with pytest.raises(BoxdError, match="machine 'twin' was not made from machine 'web' and is removed: ") as told:
        await forking
    assert "no such card" in told.value.message or trouble != "somebody else"
    untouched(world)
    assert await fork(world, "twin") == "twin", "its name is free again"


async def test_a_caller_who_leaves_gets_a_whole_copy(world: World) -> None:
    with world.host.hold("load state") as hold:
        forking = asyncio.ensure_future(fork(world, "twin"))
        await hold.reached()
        forking.cancel()
    await asyncio.wait([forking])
    await world.seen(MachineStatus.RUNNING, "twin")
    assert await world.sh("get v", "twin") == "1\n"


@pytest.mark.parametrize("moment", ["stage", "publish"])
async def test_a_checkpoint_that_goes_while_it_is_forked_leaves_no_machine_without_its_memory(
    world: World, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before the copy has its disk, and after that but before its memory is loaded."""
    await world.save("good")
    checkpoint = world.store.checkpoint(world.control.machine(OWNER, "web").id, "good")
    assert checkpoint is not None
    directory, real = world.pool.checkpoint_dir(checkpoint.machine_id, checkpoint.id), getattr(world.pool, moment)

    def gone_meanwhile(*args: Any) -> Any:
        world.pool.discard(directory)
        return real(*args)

    monkeypatch.setattr(world.pool, moment, gone_meanwhile)
    with pytest.raises(WrongState, match="machine 'twin' was not made"):
        await fork(world, "twin", checkpoint="good")
    monkeypatch.undo()
    await world.control.remove_checkpoint(OWNER, "web", "good")
    untouched(world)


async def test_a_machine_whose_memory_on_disk_is_missing_is_not_copied(world: World) -> None:
    await world.control.hibernate_machine(OWNER, "web")
    machine = world.control.machine(OWNER, "web")
    (world.pool.machine_dir(machine.id) / "hibernated" / "memory.img").unlink()
    with pytest.raises(WrongState, match="machine 'twin' was not made"):
        await fork(world, "twin")
    assert [(m.name, m.status) for m in world.control.machines(OWNER)] == [("web", MachineStatus.HIBERNATED)]


async def test_a_machine_that_gets_no_ways_in_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(machine_id: str, name: str, ways: Sequence[Way]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(world.ways, "arrange", fails)
    with pytest.raises(OSError, match="No space"):
        await world.control.create_machine(OWNER, NewMachine(name="twin", vcpu=1, memory_bytes=512 * MIB))
    untouched(world)
