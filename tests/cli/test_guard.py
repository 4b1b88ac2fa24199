"""`boxd machine guard` from outside: what the command did to the disk, what is left of the checkpoint, the status."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager, suppress

import pytest

from openboxd.api.server import serve
from openboxd.model import MAX_CHECKPOINTS
from tests.cli.conftest import Boxd
from tests.fakes.service import KEY

BAD = "echo bad >state; exit 3"


@pytest.fixture
async def state(web, service):
    """A file of the machine, whose content tells whether it was taken back."""
    file = service.home("web") / "state"
    file.write_text("good\n")
    return file


def checkpoints(service) -> list[str]:
    machine = service.machine(None, "web")
    return [checkpoint.name for checkpoint in service._checkpoints[machine.id]]


async def test_a_command_that_fails_is_undone(boxd, service, state):
    done = await boxd("machine", "guard", "web", "--", BAD)
    assert (done.status, done.out) == (3, b""), done
    assert "the command ended with 3; machine web is back at checkpoint guard-" in done.err
    assert "which was removed" in done.err
    assert state.read_text() == "good\n"
    assert (checkpoints(service), service.restores) == (["one"], 1)


async def test_a_command_that_succeeds_is_left_alone(boxd, service, state):
    done = await boxd("machine", "guard", "web", "--", "echo better >state; echo said; echo aside >&2")
    assert (done.status, done.out) == (0, b"said\n"), done
    assert "aside\n" in done.err and "the command succeeded; machine web goes on" in done.err
    assert state.read_text() == "better\n"
    assert (checkpoints(service), service.restores) == (["one"], 0)


@pytest.mark.parametrize(("command", "status", "left"), [(BAD, 3, "good\n"), ("echo better >state", 0, "better\n")])
async def test_keep_keeps_the_checkpoint_whatever_the_end(boxd, service, state, command, status, left):
    done = await boxd("machine", "guard", "web", "--keep", "--json", "--", command)
    told = done.json
    assert (done.status, told["exit_code"], told["rolled_back"]) == (status, status, status != 0)
    assert (told["machine"], told["checkpoint_kept"]) == ("web", True)
    assert state.read_text() == left
    assert checkpoints(service) == ["one", told["checkpoint"]]


async def test_on_fail_keep_leaves_what_the_command_did_and_tells_the_way_back(boxd, service, state):
    done = await boxd("machine", "guard", "web", "--on-fail", "keep", "--", BAD)
    assert done.status == 3
    assert (state.read_text(), service.restores) == ("bad\n", 0)
    _, name = checkpoints(service)
    assert f"to go back: boxd machine checkpoint restore web {name}" in done.err
    assert (await boxd("machine", "checkpoint", "restore", "web", name, "-y")).status == 0
    assert state.read_text() == "good\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("keep", [False, True])
async def test_an_interruption_undoes_it_too(boxd, service, state, number, keep):
    how = ["--on-fail", "keep"] if keep else []
    process = await boxd.start("machine", "guard", "web", *how, "--", "echo bad >state; echo on; sleep 60")
    assert await asyncio.wait_for(process.stdout.readline(), 20) == b"on\n"
    process.send_signal(number)
    _, err = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 130, err
    told = "is as the command left it; to go back: " if keep else "is back at checkpoint guard-"
    assert f"the command was interrupted; machine web {told}" in err.decode()
    assert (state.read_text(), service.restores) == (("bad\n", 0) if keep else ("good\n", 1))
    if keep:  # nothing but that ends it in the machine
        await asyncio.wait_for(service.sessions[-1].cancelled.wait(), 20)


@asynccontextmanager
async def guarded(boxd, *args: str):
    """A guard whose command runs, until the test has done something else to the machine; how it ended."""
    process = await boxd.start("machine", "guard", "web", *args, "--", "echo bad >state; echo on; sleep 60")
    assert await asyncio.wait_for(process.stdout.readline(), 20) == b"on\n"
    told: list[str] = []
    yield told
    with suppress(ProcessLookupError):  # a restore ends the command, and that the guard
        process.send_signal(signal.SIGINT)
    _, err = await asyncio.wait_for(process.communicate(), 30)
    told.append(err.decode())


async def test_what_is_saved_while_it_runs_does_not_keep_the_machine_from_going_back(boxd, service, state):
    async with guarded(boxd) as told:
        for name in ("x", "y"):
            assert (await boxd("machine", "checkpoint", "save", "web", name)).status == 0
    assert "machine web is back at checkpoint guard-" in told[0], told
    assert (state.read_text(), service.restores, checkpoints(service)) == ("good\n", 1, ["one", "x", "y"])


@pytest.mark.parametrize("removed", ["x", "y"])
async def test_what_is_removed_of_it_meanwhile_changes_nothing(boxd, service, state, removed):
    async with guarded(boxd) as told:
        for name in ("x", "y"):
            assert (await boxd("machine", "checkpoint", "save", "web", name)).status == 0
        assert (await boxd("machine", "checkpoint", "remove", "web", removed, "-y")).status == 0
    assert "machine web is back at checkpoint guard-" in told[0], told
    assert (state.read_text(), service.restores) == ("good\n", 1)


@pytest.mark.parametrize("theirs", ["one", "x"])
async def test_what_somebody_else_restored_meanwhile_stands(boxd, service, state, theirs):
    """Saved before the guard's checkpoint, or after it: then it descends from that."""
    async with guarded(boxd) as told:
        assert (await boxd("machine", "checkpoint", "save", "web", "x")).status == 0
        assert (await boxd("machine", "checkpoint", "restore", "web", theirs, "-y")).status == 0
    assert "was restored by somebody else meanwhile; it was left alone" in told[0], told
    assert service.restores == 1


async def test_without_its_checkpoint_it_says_so_and_tells_no_way_back(boxd, service, state):
    async with guarded(boxd) as told:
        (name,) = set(checkpoints(service)) - {"one"}
        assert (await boxd("machine", "checkpoint", "remove", "web", name, "-y")).status == 0
    assert f"checkpoint {name} of machine 'web' was removed by somebody else meanwhile" in told[0], told
    assert "to go back" not in told[0]
    assert (state.read_text(), service.restores) == ("bad\n", 0)


@asynccontextmanager
async def guarded_while_the_daemon_ends(service, tmp_path, *args: str):
    """A guard whose command runs when the daemon ends, the address of which nobody has then."""
    async with serve(service, "127.0.0.1:0") as address:
        process = await Boxd(address, tmp_path).start(
            "machine", "guard", "web", *args, "--", "echo bad >state; echo on; sleep 60"
        )
        assert await asyncio.wait_for(process.stdout.readline(), 20) == b"on\n"
    told = b""
    while b"waiting for it" not in told:
        line = await asyncio.wait_for(process.stderr.readline(), 30)
        assert line, told
        told += line
    yield process, address
    if process.returncode is None:
        process.kill()
        await process.wait()


async def test_a_daemon_that_is_started_anew_takes_the_machine_back(service, state, tmp_path):
    async with guarded_while_the_daemon_ends(service, tmp_path) as (process, address):
        assert state.read_text() == "bad\n"
        async with serve(service, address):
            _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 125, err
    assert "its end is unknown; machine web is back at checkpoint guard-" in err.decode()
    assert (state.read_text(), service.restores, checkpoints(service)) == ("good\n", 1, ["one"])


async def test_a_daemon_that_stays_away_is_not_waited_for_after_ctrl_c_and_the_way_back_is_told(
    service, state, tmp_path
):
    async with guarded_while_the_daemon_ends(service, tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), 60)
    _, name = checkpoints(service)
    assert process.returncode == 130, err
    assert f"to go back: boxd machine checkpoint restore web {name}" in err.decode()
    assert (state.read_text(), service.restores) == ("bad\n", 0)


async def test_on_fail_keep_waits_for_no_daemon(service, state, tmp_path):
    async with serve(service, "127.0.0.1:0") as address:
        boxd = Boxd(address, tmp_path)
        process = await boxd.start("machine", "guard", "web", "--on-fail", "keep", "--", "echo on; sleep 60")
        assert await asyncio.wait_for(process.stdout.readline(), 20) == b"on\n"
    _, err = await asyncio.wait_for(process.communicate(), 60)
    _, name = checkpoints(service)
    assert process.returncode == 125, err
    assert f"to go back: boxd machine checkpoint restore web {name}" in err.decode()


async def test_a_save_that_is_refused_runs_nothing(boxd, service, state):
    for number in range(1, MAX_CHECKPOINTS):
        await service.save_checkpoint(service.authenticate(KEY), "web", f"c{number}")
        await service.checkpoint_done(service.authenticate(KEY), "web", f"c{number}")
    before = checkpoints(service)
    done = await boxd("machine", "guard", "web", "--", "echo bad >state")
    assert done.status == 125 and f"{MAX_CHECKPOINTS} checkpoints" in done.err, done
    assert (state.read_text(), service.sessions, service.restores) == ("good\n", [], 0)
    assert checkpoints(service) == before


async def test_a_save_that_fails_runs_nothing(boxd, service, state):
    service.fail_save = "2 GiB are free and 8 GiB are needed"
    done = await boxd("machine", "guard", "web", "--", "echo bad >state")
    assert done.status == 125, done
    assert done.err == f"error: machine 'web' was not saved, and nothing was run: {service.fail_save}\n"
    assert (state.read_text(), service.sessions) == ("good\n", [])


async def test_an_interruption_of_the_save_runs_nothing(boxd, service, state):
    service.save.clear()
    process = await boxd.start("machine", "guard", "web", "--", "echo bad >state")
    await service.until(lambda: checkpoints(service) != ["one"])
    process.send_signal(signal.SIGTERM)
    _, err = await asyncio.wait_for(process.communicate(), 20)
    told = f"nothing was run; the save of checkpoint {checkpoints(service)[1]} goes on\n"
    assert (process.returncode, err.decode().lstrip("\n")) == (130, told)
    assert (state.read_text(), service.sessions) == ("good\n", [])


async def test_an_unknown_machine_and_no_command(boxd, web):
    done = await boxd("machine", "guard", "ghost", "--", "true")
    assert (done.status, done.err) == (125, "error: VM 'ghost' not found\n")
    done = await boxd("machine", "guard", "web")
    assert done.status == 2 and "say what to run after --" in done.err
