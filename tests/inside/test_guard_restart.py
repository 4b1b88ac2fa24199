"""Guards that were typed in a machine, and a daemon that ends before they do: the next one carries them on."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.api.inside_guards import GuardNote, GuardNotes
from openboxd.api.inside_nursery import Nursery
from openboxd.errors import Unavailable
from openboxd.model import MachineStatus
from tests.inside.commands import Outcome, frame, outcome, start
from tests.inside.conftest import LIMIT, Doors, doors_of
from tests.inside.test_guard import checkpoints, running
from tests.worker.world import OWNER, World


def notes(world: World) -> GuardNotes:
    return GuardNotes(world.home.parent / "run/guards")


async def cut_off(world: World, *args: str) -> bytes:
    """A guard whose command runs when the daemon ends; the name that the guest's side asks for it by."""
    async with doors_of(world) as doors:
        visitor, task, name = await running(doors, *args)
        assert len(notes(world).left()) == 1
        visitor.lose("boxd stops")
        await asyncio.wait_for(task, LIMIT)
    (world.home.parent / "run/inside" / name[:12].decode() / "dev").mkdir(parents=True)  # as SIGKILL would leave it
    return name


async def asked(doors: Doors, name: bytes, machine: str = "web") -> Outcome:
    """What the guest's side is told that asks again."""
    visitor, task = doors.knock("cli", machine)
    visitor.say(frame(b"A", name))
    await asyncio.wait_for(task, LIMIT)
    return outcome(visitor)


async def settled(doors: Doors, name: str = "web") -> None:
    """Until none of a machine's commands runs."""
    await doors.world.until(lambda: not doors.inside.commands.running(doors.machine_id(name)))


async def test_the_machine_is_taken_back_and_the_guest_is_told(world: World) -> None:
    name = await cut_off(world)
    before = world.control.machine(OWNER, "web").run_id
    async with doors_of(world) as doors:
        await world.until(lambda: doors.run_of() != before)
        done = await asked(doors, name)
        assert done.status == 125, done
        assert "as by a restart of boxd, while the command ran; machine web is back at checkpoint guard-" in done.err
        assert "which was removed" in done.err
        assert checkpoints(doors) == []
    assert notes(world).left() == []


async def test_it_is_taken_back_too_if_it_was_saved_meanwhile(world: World) -> None:
    name = await cut_off(world)
    await world.save("x")
    await world.save("y")
    await world.control.remove_checkpoint(OWNER, "web", "x")
    before = world.control.machine(OWNER, "web").run_id
    async with doors_of(world) as doors:
        done = await asked(doors, name)
        assert "machine web is back at checkpoint guard-" in done.err, done
        assert doors.run_of() != before and checkpoints(doors) == ["y"]


@pytest.mark.parametrize("first", [True, False])
async def test_what_somebody_else_restored_meanwhile_stands(world: World, first: bool) -> None:
    """Saved before the guard's checkpoint or after it."""
    if first:
        await world.save("theirs")
    name = await cut_off(world)
    if not first:
        await world.save("theirs")
    await world.control.restore_checkpoint(OWNER, "web", "theirs")
    before = world.control.machine(OWNER, "web").run_id
    async with doors_of(world) as doors:
        done = await asked(doors, name)
        assert "was restored by somebody else meanwhile; it was left alone" in done.err, done
        assert doors.run_of() == before and len(checkpoints(doors)) == 2


@pytest.mark.parametrize("typed", [(), ("web",)])
async def test_a_machine_that_is_renamed_meanwhile_is_taken_back(world: World, typed: tuple[str, ...]) -> None:
    name = await cut_off(world, *typed)
    await world.control.rename_machine(OWNER, "web", "shop")
    async with doors_of(world) as doors:
        done = await asked(doors, name, "shop")
        assert "machine shop is back at checkpoint guard-" in done.err, done
        assert checkpoints(doors, "shop") == []


async def test_a_guard_of_another_machine_ends_with_the_daemon(world: World) -> None:
    await world.machine("db")
    async with doors_of(world) as doors:
        before = doors.run_of("db")
        visitor, _ = doors.knock("cli")
        visitor.say(start("machine", "guard", "db", "--", "cat"))
        visitor.say(frame(b"I", b"it runs"))
        await visitor.until(b"it runs")
        visitor.lose("boxd stops")
    assert notes(world).left() == []
    async with doors_of(world) as doors:
        await settled(doors)
        assert (doors.run_of("db"), len(checkpoints(doors, "db"))) == (before, 1)


async def test_what_cannot_be_carried_on_is_not_at_a_later_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done in the machine since then would be lost."""
    name = await cut_off(world)
    before = world.control.machine(OWNER, "web").run_id
    tries = 0

    async def begin(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise Unavailable("the daemon could not start the command; try again")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Nursery, "begin", begin)
        async with doors_of(world) as doors:
            await settled(doors)
            done = await asked(doors, name)
            assert done.status == 125 and "could not start the command" in done.err, done
    assert tries == 2
    async with doors_of(world) as doors:
        await settled(doors)
        assert (doors.run_of(), len(checkpoints(doors))) == (before, 1)


async def test_what_was_asked_to_be_kept_is_kept(world: World) -> None:
    name = await cut_off(world, "--on-fail", "keep")
    before = world.control.machine(OWNER, "web").run_id
    async with doors_of(world) as doors:
        done = await asked(doors, name)
        assert (done.status, doors.run_of()) == (125, before)
        (checkpoint,) = checkpoints(doors)
        assert f"to go back: boxd machine checkpoint restore web {checkpoint}" in done.err
    assert notes(world).left() == []


@pytest.mark.parametrize(("ended", "left", "goes_back"), [(0, [], False), (7, [], True)])
async def test_a_command_that_had_ended_is_judged_by_its_end(
    world: World, ended: int, left: list[str], goes_back: bool
) -> None:
    await world.save("guard-1")
    machine = world.control.machine(OWNER, "web")
    notes(world).put(GuardNote("ab" * 16, machine.id, ("machine", "guard", "--", "x"), "guard-1", ended))
    async with doors_of(world) as doors:
        await settled(doors)
        assert (checkpoints(doors), doors.run_of() != machine.run_id) == (left, goes_back)
        assert (await asked(doors, b"ab" * 16)).status == ended


async def test_without_its_checkpoint_the_machine_is_left_alone(world: World) -> None:
    machine = world.control.machine(OWNER, "web")
    notes(world).put(GuardNote("ab" * 16, machine.id, ("machine", "guard", "--", "x"), "guard-1"))
    async with doors_of(world) as doors:
        done = await asked(doors, b"ab" * 16)
        assert done.status == 125 and "there is no checkpoint guard-1" in done.err, done
        assert doors.run_of() == machine.run_id


async def test_a_machine_that_is_gone_and_a_note_that_is_none_are_forgotten(world: World) -> None:
    machine = world.control.machine(OWNER, "web")
    notes(world).put(GuardNote("ab" * 16, machine.id, ("machine", "guard", "--", "x"), "guard-1"))
    (world.home.parent / "run/guards/other.json").write_text('{"ident": 1}')
    await world.control.destroy_machine(OWNER, "web")
    await world.until(lambda: world.store.machine(machine.id).status is MachineStatus.DESTROYED)
    async with doors_of(world):
        assert notes(world).left() == []


def test_what_is_left_of_a_guard_is_said_before_its_command() -> None:
    note = GuardNote("ab", "id", ("--json", "machine", "guard", "web", "--keep", "--", "sh", "--", "x"), "guard-1", 3)
    expected = ("--json", "machine", "guard", "web", "--keep", "--resumed", "guard-1", "--ended", "3")
    assert note.carried_on() == (*expected, "--", "sh", "--", "x")
