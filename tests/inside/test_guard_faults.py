"""Guards on a host that is short of something or loses a process: what they promise is kept, or is not promised."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import threading
from typing import Any, cast

import pytest

from openboxd.api import inside_guards
from openboxd.api.inside_guards import GuardNote, GuardNotes
from tests.inside.commands import boxd, frame, outcome, start
from tests.inside.conftest import LIMIT, Doors, doors_of
from tests.inside.test_guard import checkpoints, guard, known, running
from tests.inside.test_guard_restart import asked, notes, settled
from tests.worker.world import World


def kill_nursery(doors: Doors) -> None:
    """The process that commands are born from, as when memory is short."""
    process = doors.inside.commands._nursery._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)


def fill_disk(monkeypatch: pytest.MonkeyPatch, *, for_ends_only: bool) -> None:
    put = GuardNotes.put

    def full(self: GuardNotes, note: GuardNote) -> None:
        if for_ends_only and note.ended is None:
            return put(self, note)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(GuardNotes, "put", full)


async def test_a_guard_that_is_settled_is_not_settled_again(world: World) -> None:
    """Also if the process that tells how commands end has not lived to tell it."""
    async with doors_of(world) as doors:
        before = doors.run_of()
        visitor, _, name = await running(doors, "--keep")
        kill_nursery(doors)
        visitor.say(frame(b"K", bytes([signal.SIGINT])))
        await world.until(lambda: doors.run_of() != before)  # it was interrupted, and takes the machine back
        await settled(doors)
        assert (await asked(doors, name)).status == 130
        taken_back = doors.run_of()
    assert notes(world).left() == []
    async with doors_of(world) as doors:
        await settled(doors)
        assert (doors.run_of(), len(checkpoints(doors))) == (taken_back, 1)


async def test_a_guard_that_is_killed_is_carried_on_at_once(doors: Doors) -> None:
    before = doors.run_of()
    visitor, task, name = await running(doors)
    kill_nursery(doors)
    child = doors.inside.commands._runs[name.decode()]._child
    assert child is not None
    child.signal(signal.SIGKILL)
    await asyncio.wait_for(task, LIMIT)
    assert "while the command ran; machine web is back at checkpoint guard-" in outcome(visitor).err
    assert doors.run_of() != before
    assert (outcome(visitor).status, checkpoints(doors), notes(doors.world).left()) == (125, [], [])


async def test_a_command_of_another_machine_that_cannot_start_ends_no_guard(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    await doors.world.machine("db")
    visitor, task, _ = await running(doors)

    def none_left(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(socket.socket, "sendmsg", none_left)
        failed = await boxd(doors, "info", name="db")
    assert failed.status == 125 and "could not start the command; try again" in failed.err, failed
    assert (await boxd(doors, "info", name="db")).status == 0
    visitor.say(frame(b"I", b"it still runs"))
    await visitor.until(b"it still runs")
    assert not task.done()


async def test_a_nursery_that_has_died_is_started_again(doors: Doors) -> None:
    assert (await boxd(doors, "info")).status == 0
    first = doors.inside.commands._nursery._process
    assert first is not None
    kill_nursery(doors)
    await first.wait()
    assert (await boxd(doors, "info")).status == 0


async def test_a_nursery_whose_end_is_not_told_yet_is_started_again(doors: Doors) -> None:
    """A thread waits for its end and tells it when it gets round to it: until then the socket alone shows it."""
    assert (await boxd(doors, "info")).status == 0
    nursery = doors.inside.commands._nursery
    first = nursery._process
    assert first is not None
    kill_nursery(doors)
    await first.wait()

    class Untold:
        returncode = None
        wait = first.wait

    nursery._process = cast(asyncio.subprocess.Process, Untold())
    done = await boxd(doors, "info")
    assert done.status == 0, done


async def test_a_nursery_that_dies_before_it_has_read_a_job_is_started_again(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await boxd(doors, "info")).status == 0
    nursery = doors.inside.commands._nursery
    first, connected, sendmsg = nursery._process, nursery._control, socket.socket.sendmsg
    assert first is not None and connected is not None
    os.kill(first.pid, signal.SIGSTOP)
    asked = []

    def unread(self: socket.socket, *args: Any) -> int:
        sent = sendmsg(self, *args)
        if self is connected:
            asked.append(sent)
            first.kill()
        return sent

    monkeypatch.setattr(socket.socket, "sendmsg", unread)
    done = await boxd(doors, "info")
    assert (done.status, len(asked)) == (0, 1), done


async def test_a_full_disk_at_the_end_of_the_command_breaks_no_promise(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch, for_ends_only=True)
    visitor, _, _ = await guard(doors, "--", "exit 3")
    await settled(doors)
    assert "the command ended with 3; machine web is back at checkpoint guard-" in outcome(visitor).err


async def test_a_guard_that_cannot_be_noted_says_why_and_runs_nothing(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch, for_ends_only=False)
    done = await boxd(doors, "machine", "guard", "--", "true")
    assert (done.status, checkpoints(doors)) == (125, []), done
    assert done.err.startswith("error: the host could not note this guard (No space left on device)"), done


async def test_the_daemon_goes_on_while_a_note_is_written(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    write, begun, go_on = inside_guards.write_atomic, threading.Event(), threading.Event()

    def slow(*args: object) -> None:
        begun.set()
        assert go_on.wait(LIMIT)
        write(*args)

    monkeypatch.setattr(inside_guards, "write_atomic", slow)
    visitor, task = doors.knock("cli")
    visitor.say(start("machine", "guard", "--", "true"))
    visitor.say(frame(b"E"))
    assert await asyncio.to_thread(begun.wait, LIMIT)
    assert (await boxd(doors, "info")).status == 0 and checkpoints(doors) == []
    go_on.set()
    await known(visitor)
    await asyncio.wait_for(task, LIMIT)
    assert outcome(visitor).status == 0, outcome(visitor)
