"""Losing each other and finding back: restarts, hang-ups, stale bytes, another run."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator

import pytest

from openboxd.errors import Interrupted, Unavailable
from openboxd.guest import wire
from openboxd.guest.connector import ChannelAgent, ChannelConnector
from openboxd.guest.timing import Timing
from openboxd.model import ExecRequest
from tests.contracts.agent import collect, get, put, run
from tests.guest.relay import Relay
from tests.guest.rig import FAST, LIMIT, Rig, until, within
from tests.guest.test_commands import alive


@pytest.fixture
async def relay() -> AsyncIterator[tuple[Relay, Rig]]:
    rig = Rig()
    relay = Relay(rig.socket)
    await relay.start()
    await plug_in(relay, rig)
    yield relay, rig
    await relay.stop()
    await rig.clean()


async def plug_in(relay: Relay, rig: Rig) -> None:
    """Start an agent behind the relay."""
    fd = await relay.plug()
    path, rig.socket = rig.socket, rig.base / "unused"
    await rig.start("--fd", str(fd), fds=(fd,))
    rig.socket = path
    os.close(fd)


async def pid_of_blocked(agent: ChannelAgent, command: str = "sleep 600") -> int:
    session = await agent.exec(ExecRequest(f"echo $$; exec {command}"))
    return int((await within(anext(session.output()))).data)


async def test_nothing_to_connect_to_is_told(rig: Rig) -> None:
    with pytest.raises(Unavailable, match="machine web"):
        await ChannelConnector(FAST).connect(rig.base / "nothing", "web")


async def test_an_agent_that_comes_late_is_found() -> None:
    rig = Rig()
    relay = Relay(rig.socket)
    await relay.start()
    agent = await ChannelConnector(FAST).connect(rig.socket, "web")
    with pytest.raises(Unavailable, match=r"did not answer within 0\.1 seconds"):
        await agent.wait_ready(0.1)
    with pytest.raises(Unavailable, match="try again"):
        await agent.exec(ExecRequest("true"))
    await until(lambda: relay.connections >= 3)
    await plug_in(relay, rig)
    await agent.wait_ready(LIMIT)
    assert (await run(agent, "echo hi"))[1] == b"hi\n"
    await agent.close("done")
    await relay.stop()
    await rig.clean()


async def test_an_agent_that_is_started_anew_interrupts_and_goes_on(relay: tuple[Relay, Rig]) -> None:
    qemu, rig = relay
    agent = await rig.connect(Timing(first_wait=LIMIT))  # a busy host starts an agent slowly
    session = await agent.exec(ExecRequest("sleep 600"))
    await rig.stop()
    await plug_in(qemu, rig)
    with pytest.raises(Interrupted, match="the agent of machine web was started anew"):
        await collect(session)
    await agent.wait_ready(LIMIT)
    assert (await run(agent, "echo hi"))[1] == b"hi\n"
    assert qemu.connections == 1
    await agent.close("done")


async def test_a_hang_up_interrupts_and_the_callers_work_is_ended(relay: tuple[Relay, Rig]) -> None:
    qemu, rig = relay
    agent = await rig.connect()
    session = await agent.exec(ExecRequest("trap '' TERM; echo $$; while :; do sleep 600; done"))
    output = session.output()
    pid = int((await within(anext(output))).data)
    qemu.hang_up()
    with pytest.raises(Interrupted, match="connection to machine web was lost"):
        await within(anext(output))
    await agent.wait_ready(LIMIT)
    await until(lambda: not alive(pid))
    assert (await run(agent, "echo hi"))[1] == b"hi\n"
    await agent.close("done")


async def test_the_next_daemon_ends_what_the_last_one_left(relay: tuple[Relay, Rig]) -> None:
    _, rig = relay
    first = await rig.connect()
    pid = await pid_of_blocked(first)
    await first.close("the daemon stops")
    second = await rig.connect()
    await until(lambda: not alive(pid))
    await second.close("done")


async def test_another_run_leaves_the_captured_commands_alone(relay: tuple[Relay, Rig]) -> None:
    """As after a restore: same agent in the middle of its work, other socket."""
    _, rig = relay
    first = await rig.connect()
    pid = await pid_of_blocked(first)
    await first.close("the machine was restored")
    rig.socket.rename(rig.base / "other.sock")
    rig.socket = rig.base / "other.sock"
    second = await rig.connect()
    assert (await run(second, "sleep 0.1; echo hi"))[1] == b"hi\n"
    assert alive(pid)
    await second.close("done")


async def test_stale_bytes_of_both_directions_are_passed_over(relay: tuple[Relay, Rig]) -> None:
    qemu, rig = relay
    dice = random.Random(7)
    frames = wire.frame(wire.STDOUT, 1, b"stale" * 3000) + wire.frame(wire.RESULT, 1, b'{"exit":9}')
    for _ in range(25):
        cut = dice.randrange(len(frames))
        qemu.stale = frames[cut:] * dice.randrange(1, 60) + wire.sync(b"\x05" * 16) + frames
        opening = wire.frame(wire.OPEN, 1, b'{"op":"mkdir","path":"x"}') + wire.frame(wire.DATA, 1, b"y" * 999)
        qemu.to_agent(
            opening[: dice.randrange(len(opening))] if dice.random() < 0.5 else wire.sync(b"\x07" * 16)[:20]
        )
        agent = await rig.connect()
        await put(agent, "f", b"new" * 70_000)
        assert await get(agent, "f") == b"new" * 70_000
        assert await run(agent, "echo hi") == (0, b"hi\n", b"")
        await agent.close("next")


async def test_streams_cut_in_full_flow_end_with_an_error_and_the_next_are_whole(relay: tuple[Relay, Rig]) -> None:
    qemu, rig = relay
    agent = await rig.connect()
    await put(agent, "f", os.urandom(3_000_000))
    data = await get(agent, "f")
    dice = random.Random(11)
    for _ in range(10):
        _, content = await agent.download("f")
        session = await agent.exec(ExecRequest("yes"))
        output = session.output()
        qemu.cut_after = dice.randrange(1, 400_000)
        with pytest.raises(Interrupted):
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(drain(content), drain(output), lose(qemu))
        qemu.cut_after = -1
        await agent.wait_ready(LIMIT)
        assert await get(agent, "f") == data
    await agent.close("done")


async def drain(pieces: AsyncIterator[object]) -> None:
    async for _ in pieces:
        pass


async def lose(qemu: Relay) -> None:
    await until(lambda: qemu.cut_after == 0)
    qemu.hang_up()


async def test_nonsense_for_the_agent_makes_it_ask_for_a_new_epoch(relay: tuple[Relay, Rig]) -> None:
    qemu, rig = relay
    agent = await rig.connect()
    session = await agent.exec(ExecRequest("sleep 600"))
    qemu.to_agent(b"\xff" * 100)
    with pytest.raises(Interrupted, match="started anew"):
        await collect(session)
    await agent.wait_ready(LIMIT)
    assert (await run(agent, "echo hi"))[1] == b"hi\n"
    await agent.close("done")
