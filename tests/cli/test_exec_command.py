"""`boxd machine exec`: bytes, arguments, statuses, stdin, timeouts, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

VECTOR = ["a b", "$HOME", "x'y", "", "*", "l1\nl2", "--json", "ü€", ";id", "-e", "--"]
SHOW = "import sys,json;print(json.dumps(sys.argv[1:]))"


@pytest.mark.parametrize("dashes", [[], ["--"]])
async def test_arguments_arrive_as_they_are(boxd, web, dashes):
    done = await boxd("machine", "exec", "web", *dashes, "python3", "-c", SHOW, *VECTOR)
    assert (done.status, json.loads(done.out)) == (0, VECTOR), done.err


async def test_a_lone_argument_is_a_line_for_the_shell(boxd, web):
    assert (await boxd("machine", "exec", "web", "cd / && pwd; exit 7")).status == 7


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["sh", "-c", "exit 5"], 5),
        (["exit", "5"], 5),
        (["exit 5"], 5),
        (["false"], 1),
        (["nosuchcmd", "x"], 127),
        (["/etc/passwd"], 126),
        (["sh", "-c", "kill -9 $$"], 137),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["sh", "-c", "exit 256"], 0),
    ],
)
async def test_the_status_is_the_commands_own(boxd, web, argv, status):
    done = await boxd("machine", "exec", "web", "--", *argv)
    assert done.status == status, done
    assert "error:" not in done.err


async def test_a_failure_of_exec_itself_is_125_with_a_sentence(boxd, web, service):
    done = await boxd("machine", "exec", "ghost", "--", "true")
    assert (done.status, done.out, done.err) == (125, b"", "error: VM 'ghost' not found\n")
    await service.stop_machine(None, "web")
    done = await boxd("machine", "exec", "web", "--", "true")
    assert (done.status, done.err.count("\n")) == (125, 1)
    done = await boxd("machine", "exec", "web", "--", "true", env={"BOXD_BASE_URL": "http://127.0.0.1:1"})
    assert done.status == 125
    assert done.err.startswith("error: the boxd daemon at http://127.0.0.1:1 does not answer")


async def test_an_argument_that_is_too_long_is_a_clean_error(boxd, web):
    done = await boxd("machine", "exec", "web", "--", "sh", "-c", "x" * 100_000, "y" * 100_000)
    assert (done.status, done.err.count("\n")) == (125, 1)
    assert done.err.startswith("error: ")


async def test_output_stays_apart_and_binary(boxd, web):
    done = await boxd("machine", "exec", "web", "--", "sh", "-c", r"printf '\000\377\n'; echo err >&2")
    assert (done.out, done.err) == (b"\x00\xff\n", "err\n")


async def test_variables_hold_for_the_whole_line_and_options_may_follow_the_name(boxd, web):
    done = await boxd("machine", "exec", "-e", "A=x y", "web", "--env=B=$HOME", 'true && echo "$A|$B"')
    assert done.text == "x y|$HOME\n"
    done = await boxd("machine", "exec", "-e", "1A=x", "web", "true")
    assert (done.status, done.out) == (2, b"")


async def test_json_holds_output_and_status(boxd, web):
    for argv in (["--json", "machine", "exec", "web"], ["machine", "exec", "web", "--json"]):
        done = await boxd(*argv, "--", "sh", "-c", "echo out; exit 3")
        assert (done.status, done.json) == (3, {"output": "out\n", "exit_code": 3})


# -- stdin


async def test_stdin_reaches_the_command_with_its_end(boxd, web):
    assert (await boxd("machine", "exec", "web", "--", "wc", "-c", feed=b"abc")).text.strip() == "3"


async def test_fifty_megabytes_reach_the_command(boxd, web):
    done = await boxd("machine", "exec", "web", "--", "wc", "-c", feed=bytes(50_000_000))
    assert done.text.strip() == "50000000"


async def test_stdin_may_be_a_file_or_dev_null(boxd, web, tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 300_000)
    with (tmp_path / "f").open("rb") as stream:
        assert (await boxd("machine", "exec", "web", "--", "wc", "-c", stdin=stream)).text.strip() == "300000"
    assert (await boxd("machine", "exec", "web", "--", "cat")).status == 0


@pytest.mark.parametrize("kind", ["pipe", "fifo", "closed"])
async def test_a_stdin_that_never_ends_does_not_hold_the_caller(boxd, web, tmp_path, kind):
    reader, writer = os.pipe()
    os.mkfifo(tmp_path / "fifo")
    fifo = os.open(tmp_path / "fifo", os.O_RDWR)
    closed = ("sh", "-c", 'exec "$@" <&-', "sh")
    options = {"pipe": {"stdin": reader}, "fifo": {"stdin": fifo}, "closed": {"by": closed}}
    done = await boxd("machine", "exec", "web", "--", "echo", "hi", **options[kind])
    for descriptor in (reader, writer, fifo):
        os.close(descriptor)
    assert (done.status, done.text) == (0, "hi\n"), done.err


@pytest.mark.parametrize("turn", range(5))
async def test_a_command_that_does_not_read_ends_all_the_same(boxd, web, turn):
    done = await boxd("machine", "exec", "web", "--", "sh", "-c", "exit 4", feed=bytes(5_000_000))
    assert (done.status, done.err) == (4, "")


# -- endings


async def test_a_timeout_is_124_and_ends_the_command(boxd, web, service):
    done = await boxd("machine", "exec", "web", "--timeout", "3", "--", "sleep", "1000")
    assert (done.status, done.err.count("\n")) == (124, 1)
    await asyncio.wait_for(service.sessions[-1].cancelled.wait(), 60)


async def test_ctrl_c_is_130_and_ends_the_command(boxd, web, service):
    process = await boxd.start("machine", "exec", "web", "--", "sh", "-c", "echo up; sleep 1000")
    assert await process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 130
    assert b"Traceback" not in err
    await asyncio.wait_for(service.sessions[-1].cancelled.wait(), 60)


async def test_a_killed_caller_ends_the_command_too(boxd, web, service):
    process = await boxd.start("machine", "exec", "web", "--", "sh", "-c", "echo up; sleep 1000")
    assert await process.stdout.readline() == b"up\n"
    process.kill()
    await asyncio.wait_for(service.sessions[-1].cancelled.wait(), 60)
    await process.communicate()


async def test_a_reader_who_leaves_is_no_traceback(boxd, web):
    reader, writer = os.pipe()
    process = await boxd.start("machine", "exec", "web", "--", "yes", stdout=writer)
    os.close(writer)
    assert await asyncio.to_thread(os.read, reader, 2) == b"y\n"
    os.close(reader)
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, err) == (141, b"")


async def test_a_restore_is_told_and_is_125(boxd, web, service):
    process = await boxd.start("machine", "exec", "web", "--", "sh", "-c", "echo up; sleep 1000")
    assert await process.stdout.readline() == b"up\n"
    await service.restore_checkpoint(None, "web", "one")
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 125
    assert err == b"error: machine 'web' was restored to checkpoint 'one'\n"


async def test_a_terminal_is_raw_and_put_back(boxd, web, service):
    status, shown = await boxd.on_terminal(
        "connect", "web", until=b"", reply=b"stty size; echo a''b; exit 3\n", env={"TERM": "dumb"}
    )
    assert status == 3, shown
    assert b"ab\r\n" in shown
    assert service.sessions[-1].command.startswith("export TERM=dumb; ")


async def test_connect_refuses_without_a_terminal(boxd, web):
    done = await boxd("connect", "web")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("error: connect needs a terminal")
