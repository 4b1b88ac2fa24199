"""The boxd command of machines: the real program, in an empty place, for the machine at the other end."""

from __future__ import annotations

import asyncio
import json

import pytest

from openboxd.errors import PermissionDenied, Unauthenticated
from tests.inside.commands import boxd, frame, heard, outcome, start
from tests.inside.conftest import Doors


async def test_a_command_means_the_machine_it_is_typed_in(doors: Doors) -> None:
    done = await boxd(doors, "info", "--json")
    assert done.status == 0, done
    assert json.loads(done.out)["name"] == "web"
    saved = await boxd(doors, "machine", "checkpoint", "save", "one", "--json")
    assert json.loads(saved.out)["name"] == "one", saved
    listed = await boxd(doors, "machine", "checkpoint", "list", "--json")
    assert [each["name"] for each in json.loads(listed.out)] == ["one"]
    label = await boxd(doors, "machine", "label", "role=db", "--json")
    assert label.status == 0 and json.loads(label.out) == {"role": "db"}, label
    removed = await boxd(doors, "machine", "checkpoint", "remove", "one", "-y")
    assert (removed.status, removed.out) == (0, "checkpoint one of machine web was removed\n"), removed


async def test_machines_make_change_and_remove_others(doors: Doors) -> None:
    made = await boxd(doors, "machine", "new", "db", "--vcpu", "1", "--memory", "512M", "--json")
    assert made.status == 0 and json.loads(made.out)["name"] == "db", made
    listed = await boxd(doors, "ls", "--json")
    assert {each["name"] for each in json.loads(listed.out)} == {"web", "db"}
    renamed = await boxd(doors, "machine", "rename", "db", "store")
    assert renamed.status == 0, renamed
    routed = await boxd(doors, "machine", "proxy", "new", "docs", "--port", "9000", "--json")
    assert json.loads(routed.out)["vm"] == "web", routed
    removed = await boxd(doors, "machine", "remove", "store", "-y")
    assert (removed.status, removed.out) == (0, "machine store was removed\n"), removed
    itself = await boxd(doors, "machine", "remove", "-y")
    assert itself.status == 1 and "'boxd machine remove --self web'" in itself.err, itself
    assert await boxd(doors, "machine", "remove", "-y", "web") == itself
    unnamed = await boxd(doors, "machine", "remove", "--self")
    assert unnamed.status == 2 and "confirmed with its name" in unnamed.err, unnamed


async def test_a_shell_of_another_machine_comes_through_its_agent(doors: Doors) -> None:
    visitor, task = doors.knock("cli")
    visitor.say(start("connect", "web", tty="111", env=("TERM=xterm",)))
    visitor.say(frame(b"I", b"exit 5\r"))
    await asyncio.wait_for(task, 60)
    assert "ssh" not in outcome(visitor).out, outcome(visitor)


async def test_nothing_of_the_host_is_within_reach(doors: Doors) -> None:
    """Whatever the command line says, there is no file, no setting, no other daemon and no key."""
    for args, text in (
        (("daemon", "run", "--home", "/"), "'boxd daemon' is only on the host"),
        (("machine", "ssh-config"), "'boxd machine ssh-config' is only on the host"),
        (("auth", "keys", "create", "x"), "'boxd auth' is only on the host"),
        (("doctor",), "'boxd doctor' is only on the host"),
        (("admin", "user", "list", "--json"), "'boxd admin' is only on the host"),
        (("--api-url", "http://127.0.0.1:9443", "ls"), "leave --api-url out"),
        (("machine", "get", "no-such-machine"), "not found"),
    ):
        done = await boxd(doors, *args)
        assert done.status != 0 and text in done.err, (args, done)
        assert "only on the host" not in text or (done.status == 2 and "try" not in done.err), (args, done)
    # What would be a local path elsewhere is the machine's.
    copied = await boxd(doors, "machine", "cp", "/etc/hostname", "web:copy")
    assert copied.status == 1 and "/etc/hostname" in copied.err, copied


async def test_streams_and_statuses_come_through(doors: Doors) -> None:
    done = await boxd(doors, "machine", "exec", "web", "--", "cat", stdin=b"x" * 100_000)
    assert (done.status, len(done.out)) == (0, 100_000), done.err
    done = await boxd(doors, "machine", "exec", "web", "--", "exit 7")
    assert done.status == 7


async def test_a_terminal_asks_and_hears(doors: Doors) -> None:
    visitor, task = doors.knock("cli")
    visitor.say(start("machine", "checkpoint", "save", "one", tty="111", env=("TERM=xterm",)))
    await asyncio.wait_for(task, 60)
    assert outcome(visitor).status == 0, outcome(visitor)
    visitor, task = doors.knock("cli")
    visitor.say(start("machine", "checkpoint", "remove", "one", tty="111"))
    await visitor.until(b"[y/N]")
    visitor.say(frame(b"W", b"100 40"))
    visitor.say(frame(b"I", b"y\r"))
    await asyncio.wait_for(task, 60)
    assert outcome(visitor).status == 0 and "was removed" in outcome(visitor).out, outcome(visitor)


async def test_ctrl_c_and_a_caller_who_leaves_end_it(doors: Doors) -> None:
    visitor, task = doors.knock("cli")
    visitor.say(start("machine", "exec", "web", "--", "cat"))
    visitor.say(frame(b"I", b"it runs"))
    await visitor.until(b"it runs")
    visitor.say(frame(b"K", b"\x02"))
    await asyncio.wait_for(task, 60)
    assert outcome(visitor).status == 130, outcome(visitor)
    gone, task = doors.knock("cli")
    gone.say(start("machine", "exec", "web", "--", "cat") + frame(b"I", b"it runs"))
    await gone.until(b"it runs")
    gone.leave()
    await asyncio.wait_for(task, 60)
    await doors.world.until(lambda: not doors.inside.commands.running(doors.machine_id()))


async def test_a_command_line_too_long_is_refused_and_others_go_on(doors: Doors) -> None:
    other, task = doors.knock("cli")
    other.say(start("machine", "exec", "web", "--", "cat") + frame(b"I", b"it runs"))
    await other.until(b"it runs")
    visitor, refused = doors.knock("cli")
    fields = [b"cwd=/", b"uid=1000", b"tty=000", b"size=80 24", b"arg=" + b"\xff" * 60_000]
    visitor.say(frame(b"S", b"\0".join(fields)))
    await asyncio.wait_for(refused, 60)
    assert outcome(visitor).status == 125 and "too long" in outcome(visitor).err
    other.say(frame(b"E"))
    await asyncio.wait_for(task, 60)
    assert outcome(other).status == 0


async def test_a_machine_that_is_isolated_has_no_doors(doors: Doors) -> None:
    machine = next(iter(doors.world.store.machines()))
    run_id = machine.run_id
    await doors.world.store.update_machine(machine.id, isolated=True)
    for door in ("cli", "api"):
        _, task = doors.knock(door)
        with pytest.raises(PermissionDenied, match="isolated"):
            await task
    _, task = doors.knock("cli", run_id="0123456789ab")
    with pytest.raises(Unauthenticated):
        await task
    assert run_id


async def test_no_machine_has_more_commands_than_its_share(doors: Doors) -> None:
    waiting = [doors.knock("cli") for _ in range(8)]
    for visitor, _ in waiting:
        visitor.say(start("machine", "exec", "web", "--", "cat"))
    done = await boxd(doors, "version")
    assert done.status == 125 and "8 boxd commands run in machine 'web' already" in done.err
    for visitor, _ in waiting:
        visitor.say(frame(b"E"))
    await asyncio.wait_for(asyncio.gather(*(task for _, task in waiting)), 120)
    assert {outcome(visitor).status for visitor, _ in waiting} == {0}
    assert (await boxd(doors, "version")).status == 0


@pytest.mark.parametrize(
    "bytes_",
    [
        b"",
        b"\0" * 5,
        b"S",
        frame(b"S"),
        frame(b"S", b"cwd=/\0uid=x\0tty=000\0size=80 24"),
        frame(b"S", b"cwd=/\0uid=0\0tty=0000\0size=80 24"),
        frame(b"S", b"cwd=/\0uid=0\0tty=000\0size=0 24"),
        b"S\xff\xff\xff\xff",
        frame(b"A", b"../../etc/passwd"),
        frame(b"Z", b"x"),
        start("version") + frame(b"Z"),
        start("version") + b"I\xff\xff\xff\xff",
    ],
)
async def test_nonsense_is_refused_in_words_or_in_silence(doors: Doors, bytes_: bytes) -> None:
    visitor, task = doors.knock("cli")
    visitor.say(bytes_)
    visitor.leave()
    await asyncio.wait_for(task, 60)
    frames = heard(visitor)
    assert not frames or frames[-1][0] == b"C" or bytes_.startswith(start("version")), frames
    assert (await boxd(doors, "version")).status == 0
