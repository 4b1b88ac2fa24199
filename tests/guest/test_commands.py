"""Commands of the real agent: what people run into with pipes, terminals, signals and children left behind."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from time import monotonic

import pytest

from openboxd.errors import InvalidArgument
from openboxd.guest.connector import ChannelAgent
from openboxd.model import ExecRequest
from tests.contracts.agent import collect, run
from tests.guest.rig import LIMIT, Rig, until, within


async def on_tty(agent: ChannelAgent, command: str) -> tuple[int | None, bytes]:
    session = await agent.exec(ExecRequest(command, tty=True, cols=100, rows=30))
    stdout, stderr = await collect(session)
    assert stderr == b""
    return session.exit_code, stdout


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # gone before it was opened, or before it was read
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("sh -c 'exit 5'", 5),
        ("false", 1),
        ("/etc/passwd", 126),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("exit 256", 0),
        ("", 0),
    ],
)
async def test_statuses_are_those_of_a_shell(agent: ChannelAgent, command: str, status: int) -> None:
    assert (await run(agent, command))[0] == status


async def test_a_command_runs_as_the_user_at_home_like_after_a_login(agent: ChannelAgent, rig: Rig) -> None:
    _, out, _ = await run(agent, "id -u; pwd; echo $HOME $USER $LOGNAME $LANG; umask; ulimit -Sn; echo ${TERM-none}")
    names = f"{rig.home} {rig.user} {rig.user} C.UTF-8"
    assert out.decode().split("\n") == [str(rig.uid), str(rig.home), names, "0022", "1024", "none", ""]


async def test_a_command_has_no_rights_and_no_descriptors_of_the_agent(agent: ChannelAgent) -> None:
    _, out, _ = await run(agent, "grep -E 'CapEff|CapPrm|SigIgn|NoNewPrivs' /proc/self/status; echo /proc/self/fd/*")
    words = dict(line.split(":\t") for line in out.decode().splitlines()[:-1])
    if os.geteuid() == 0:
        assert int(words["CapEff"], 16) == int(words["CapPrm"], 16) == 0
    assert int(words["SigIgn"], 16) & 0x7FFFFFFF == 0
    assert words["NoNewPrivs"] == "0"  # sudo works
    assert len(out.decode().splitlines()[-1].split()) <= 4


async def test_arguments_keep_their_boundaries(agent: ChannelAgent) -> None:
    vector = ["a b", "$HOME", "x'y", "", "*", "l1\nl2", "--json", "ü€", ";id"]
    _, out, _ = await run(agent, "printf '%s\\0' " + " ".join(map(shlex.quote, vector)))
    assert out.decode().split("\0")[:-1] == vector


@pytest.mark.parametrize("size", [131_060, 131_071, 131_072, 200_000, 1_000_000])
@pytest.mark.parametrize("tty", [False, True])
async def test_a_line_longer_than_an_argument_runs(agent: ChannelAgent, size: int, tty: bool) -> None:
    line = ": '" + "x" * (size - 40) + "'; exit $(ls /proc/$$/fd | grep -c '^9$')"
    session = await agent.exec(ExecRequest(line, tty=tty))
    assert await collect(session) == (b"", b"")
    assert session.exit_code == 0


async def test_lines_no_shell_can_run_are_refused(agent: ChannelAgent) -> None:
    with pytest.raises(InvalidArgument, match="zero byte"):
        await agent.exec(ExecRequest("echo \0"))
    with pytest.raises(InvalidArgument, match="put it into a file"):
        await agent.exec(ExecRequest("x" * (1 << 20) + "x"))


BACKGROUND = [
    "sleep 300 & echo started",
    "nohup sleep 300 >/dev/null & echo started",
    "setsid sleep 300 & echo started",
]


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("command", BACKGROUND)
async def test_a_background_child_does_not_hold_the_command(
    agent: ChannelAgent, rig: Rig, command: str, tty: bool
) -> None:
    began = monotonic()
    session = await agent.exec(ExecRequest(f"{command} echo started", tty=tty))
    stdout, _ = await within(collect(session))
    assert stdout.split()[0] == b"started"
    assert session.exit_code == 0
    print(f"ended after {monotonic() - began:.2f} s")
    await run(agent, "true")
    await until(lambda: len(rig.commands()) == 1)  # in the moment of its exec a process has no environment


async def test_a_background_writer_lives_on_and_does_not_hold_the_command(agent: ChannelAgent) -> None:
    command = "echo first; (while :; do echo more || exit; done) & echo $!"
    session = await agent.exec(ExecRequest(command))
    stdout, _ = await collect(session)
    pid = int(next(line for line in stdout.split() if line.isdigit()))
    assert stdout.startswith(b"first\n")
    assert session.exit_code == 0
    for _ in range(5):
        await run(agent, "true")
    assert alive(pid)


async def test_nothing_printed_before_the_end_is_lost(agent: ChannelAgent) -> None:
    for tty, newline in ((False, b"\n"), (True, b"\r\n")):
        session = await agent.exec(ExecRequest("seq 1 60000; sleep 300 &", tty=tty))
        stdout, _ = await collect(session)
        assert stdout == newline.join(b"%d" % n for n in range(1, 60001)) + newline


async def test_the_end_does_not_wait_for_stdin(agent: ChannelAgent) -> None:
    session = await agent.exec(ExecRequest("echo hi"))  # stdin stays open
    assert await collect(session) == (b"hi\n", b"")


async def test_fifty_megabytes_go_through_stdin(agent: ChannelAgent) -> None:
    session = await agent.exec(ExecRequest("wc -c"))
    began = monotonic()
    for _ in range(50):
        await within(session.write(bytes(1_000_000)))
    await session.write_eof()
    assert await collect(session) == (b"50000000\n", b"")
    print(f"stdin: {50 / (monotonic() - began):.0f} MB/s")


async def test_stdin_that_is_not_read_is_dropped(agent: ChannelAgent) -> None:
    session = await agent.exec(ExecRequest("exec 0<&-; sleep 1; echo done"))
    await within(session.write(bytes(5_000_000)))
    assert await collect(session) == (b"done\n", b"")


async def test_a_terminal_has_its_size_and_its_end_of_file(agent: ChannelAgent) -> None:
    assert await on_tty(agent, "stty size; tty | grep -c pts; echo err >&2") == (0, b"30 100\r\n1\r\nerr\r\n")
    session = await agent.exec(ExecRequest("stty -echo; echo go; cat; stty size", tty=True))
    output = session.output()
    seen = b""
    while b"go" not in seen:
        seen += (await within(anext(output))).data
    await session.resize(120, 40)
    await session.write(b"no newline")
    await session.write_eof()
    async for piece in output:
        seen += piece.data
    assert seen.endswith(b"no newline40 120\r\n")
    assert session.exit_code == 0


async def test_cancel_leaves_nothing_of_the_group(agent: ChannelAgent) -> None:
    command = "sleep 600 & sleep 600 & trap '' TERM; echo $$ $!; while :; do sleep 600; done"
    for tty in (False, True):
        session = await agent.exec(ExecRequest(command, tty=tty))
        output = session.output()
        leader, child = map(int, (await within(anext(output))).data.split())
        began = monotonic()
        await session.cancel()
        async with asyncio.timeout(LIMIT):
            async for _ in output:
                pass
        assert session.exit_code == 137  # SIGTERM is not enough for this one
        await until(lambda pids=(leader, child): not any(map(alive, pids)))
        print(f"gone after {monotonic() - began:.1f} s")


async def test_a_cancelled_command_ends_without_a_reader(agent: ChannelAgent) -> None:
    session = await agent.exec(ExecRequest("yes"))
    await within(anext(session.output()))
    await session.cancel()
    await until(lambda: session._call.over)


async def test_a_stalled_reader_does_not_hold_others(agent: ChannelAgent) -> None:
    stalled = [await agent.exec(ExecRequest("yes")) for _ in range(4)]
    idle = await agent.exec(ExecRequest("sleep 600"))
    writer = asyncio.create_task(idle.write(bytes(10_000_000)))
    began = monotonic()
    for _ in range(20):
        assert await run(agent, "echo hi") == (0, b"hi\n", b"")
    print(f"beside stalled readers: {(monotonic() - began) * 50:.1f} ms a command")
    assert not writer.done()
    for session in (*stalled, idle):
        await session.cancel()
    await within(writer)


async def test_a_hundred_commands_at_once(agent: ChannelAgent) -> None:
    began = monotonic()
    results = await asyncio.gather(*(run(agent, f"cat; echo {n}", stdin=b"x") for n in range(100)))
    assert results == [(0, b"x%d\n" % n, b"") for n in range(100)]
    print(f"100 at once: {monotonic() - began:.2f} s")


async def test_no_zombies_and_no_descriptors_are_left_after_500_commands(agent: ChannelAgent, rig: Rig) -> None:
    assert rig.process is not None
    open_files = Path(f"/proc/{rig.process.pid}/fd")
    descriptors = len(list(open_files.iterdir()))
    began = monotonic()
    for _ in range(50):
        await asyncio.gather(*(run(agent, "true") for _ in range(10)))
    print(f"{(monotonic() - began) * 2:.1f} ms a command")
    children = Path(f"/proc/{rig.process.pid}/task/{rig.process.pid}/children").read_text()
    assert children.split() == []
    await until(lambda: len(list(open_files.iterdir())) <= descriptors)  # emptied pipes are closed a moment later
