"""A guarded command: what is saved, taken back and told, from inside as the processes of the guest live it."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.inside.commands import boxd, frame, heard, outcome, start
from tests.inside.conftest import LIMIT, Doors, Visitor
from tests.worker.world import OWNER


def checkpoints(doors: Doors, name: str = "web") -> list[str]:
    return [each.name for each in doors.world.store.checkpoints(doors.machine_id(name))]


async def known(visitor: Visitor) -> bytes:
    """Play the guest's side up to where it knows the run, and says so; the run's name."""
    await visitor.until(b"R\0\0\0\x20")
    visitor.say(frame(b"R"))
    return next(data for kind, data in heard(visitor) if kind == b"R")


async def guard(doors: Doors, *args: str, **how) -> tuple[Visitor, asyncio.Task[None], bytes]:
    visitor, task = doors.knock("cli")
    visitor.say(start("machine", "guard", *args, **how))
    if args[-1] != "cat":  # which runs as long as there is no end
        visitor.say(frame(b"E"))
    return visitor, task, await known(visitor)


async def running(doors: Doors, *args: str) -> tuple[Visitor, asyncio.Task[None], bytes]:
    """One whose command runs, and says again what it is told."""
    visitor, task, name = await guard(doors, *args, "--", "cat")
    visitor.say(frame(b"I", b"it runs"))
    await visitor.until(b"it runs")
    return visitor, task, name


async def test_a_command_that_succeeds_leaves_the_machine_and_no_checkpoint(doors: Doors) -> None:
    visitor, task, _ = await guard(doors, "--", "true")
    await asyncio.wait_for(task, LIMIT)
    done = outcome(visitor)
    assert done.status == 0, done
    assert "is ready" in done.err and "the command succeeded; machine web goes on" in done.err
    assert checkpoints(doors) == []


async def test_a_command_that_fails_is_undone_and_the_restored_process_learns_of_it(doors: Doors) -> None:
    before = doors.run_of()
    visitor, task, name = await guard(doors, "--json", "--", "exit 3")
    # The restore ends the channel: the process that waited is gone, the one of the captured moment asks again.
    await doors.world.until(lambda: doors.run_of() != before)
    visitor.lose()
    await asyncio.wait_for(task, LIMIT)
    again, asking = doors.knock("cli")
    again.say(frame(b"A", name))
    await asyncio.wait_for(asking, LIMIT)
    done = outcome(again)
    assert done.status == 3, done
    assert "the command ended with 3; machine web is back at checkpoint guard-" in done.err
    assert "which was removed" in done.err
    told = json.loads(done.out)
    assert (told["machine"], told["exit_code"], told["rolled_back"]) == ("web", 3, True)
    assert checkpoints(doors) == []


async def test_a_machine_that_is_named_by_its_id_is_itself_too(doors: Doors) -> None:
    before = doors.run_of()
    visitor, task, name = await guard(doors, doors.machine_id(), "--", "exit 5")
    await doors.world.until(lambda: doors.run_of() != before)
    visitor.lose()
    await asyncio.wait_for(task, LIMIT)
    again, asking = doors.knock("cli")
    again.say(frame(b"A", name))
    await asyncio.wait_for(asking, LIMIT)
    assert outcome(again).status == 5 and "machine web is back" in outcome(again).err, outcome(again)


async def test_a_machine_that_is_renamed_meanwhile_is_taken_back(doors: Doors) -> None:
    visitor, _, _ = await running(doors)
    await doors.world.control.rename_machine(OWNER, "web", "shop")
    visitor.say(frame(b"K", bytes([signal.SIGINT])))
    await doors.world.until(lambda: not doors.inside.commands.running(doors.machine_id("shop")))
    assert "is back at checkpoint guard-" in outcome(visitor).err, outcome(visitor)
    assert checkpoints(doors, "shop") == []


async def test_its_outcome_is_nobody_elses(doors: Doors) -> None:
    await doors.world.machine("db")
    visitor, task, name = await guard(doors, "--", "true")
    stranger, asking = doors.knock("cli", "db")
    stranger.say(frame(b"A", name))
    await asyncio.wait_for(asking, LIMIT)
    assert outcome(stranger).status == 125 and "nothing is known" in outcome(stranger).err
    await asyncio.wait_for(task, LIMIT)
    assert outcome(visitor).status == 0


async def test_on_request_the_machine_and_the_checkpoint_stay(doors: Doors) -> None:
    before = doors.run_of()
    visitor, task, _ = await guard(doors, "--on-fail", "keep", "--", "exit 4")
    await asyncio.wait_for(task, LIMIT)
    done = outcome(visitor)
    assert done.status == 4 and "boxd machine checkpoint restore web guard-" in done.err, done
    assert doors.run_of() == before and len(checkpoints(doors)) == 1
    visitor, task, _ = await guard(doors, "--keep", "--", "true")
    await asyncio.wait_for(task, LIMIT)
    assert outcome(visitor).status == 0 and len(checkpoints(doors)) == 2


async def test_who_leaves_interrupts_it_and_the_machine_goes_back(doors: Doors) -> None:
    before = doors.run_of()
    visitor, task, _ = await running(doors)  # one that is interrupted before has nothing to take back
    visitor.leave()
    await asyncio.wait_for(task, LIMIT)
    await doors.world.until(lambda: doors.run_of() != before)
    await doors.world.until(lambda: not doors.inside.commands.running(doors.machine_id()))
    assert checkpoints(doors) == []


@pytest.mark.parametrize("first", [True, False])
async def test_what_somebody_else_restored_meanwhile_stands(doors: Doors, first: bool) -> None:
    """Saved before the guard's checkpoint, or after it: then it descends from that."""
    if first:
        await doors.world.save("theirs")
    visitor, task, name = await running(doors)
    if not first:
        await doors.world.save("theirs")
    await doors.world.control.restore_checkpoint(OWNER, "web", "theirs")
    run = doors.run_of()
    visitor.lose()
    await asyncio.wait_for(task, LIMIT)
    again, asking = doors.knock("cli")
    again.say(frame(b"A", name))
    await asyncio.wait_for(asking, LIMIT)
    done = outcome(again)
    assert done.status == 125 and "restored by somebody else meanwhile; it was left alone" in done.err, done
    assert doors.run_of() == run


@pytest.mark.parametrize("inside", [True, False])
async def test_what_is_saved_meanwhile_does_not_keep_the_machine_from_going_back(doors: Doors, inside: bool) -> None:
    """By the guarded command, or by the owner from outside."""
    before = doors.run_of()
    visitor, _, _ = await running(doors)
    if inside:
        done = await boxd(doors, "machine", "checkpoint", "save", "x")
        assert done.status == 0, done
    else:
        await doors.world.save("x")
    visitor.say(frame(b"K", bytes([signal.SIGINT])))
    await doors.world.until(lambda: not doors.inside.commands.running(doors.machine_id()))
    assert "is back at checkpoint guard-" in outcome(visitor).err, outcome(visitor)
    assert doors.run_of() != before and checkpoints(doors) == ["x"]


async def test_a_guard_in_a_guard_may_keep_its_checkpoint(doors: Doors) -> None:
    outer, _, _ = await running(doors)
    inner, task, _ = await guard(doors, "--keep", "--", "true")
    await asyncio.wait_for(task, LIMIT)
    assert outcome(inner).status == 0, outcome(inner)
    before = doors.run_of()
    outer.say(frame(b"K", bytes([signal.SIGINT])))
    await doors.world.until(lambda: not doors.inside.commands.running(doors.machine_id()))
    assert "is back at checkpoint guard-" in outcome(outer).err, outcome(outer)
    assert doors.run_of() != before and len(checkpoints(doors)) == 1


async def test_another_machine_is_guarded_like_from_outside(doors: Doors) -> None:
    await doors.world.machine("db")
    done = await boxd(doors, "machine", "guard", "db", "--json", "--", "exit 9")
    assert done.status == 9, done
    assert json.loads(done.out)["rolled_back"] is True
    missing = await boxd(doors, "machine", "guard", "db")
    assert missing.status == 2 and "after --" in missing.err
