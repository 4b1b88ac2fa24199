"""A channel whose guest's vCPUs stand still: nothing is asked of it, and its streams go on when it does."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from openboxd.errors import Unavailable
from openboxd.guest.connector import ChannelConnector
from openboxd.guest.timing import Timing
from openboxd.model import ExecRequest
from tests.contracts.agent import collect
from tests.guest.relay import Relay
from tests.guest.rig import FAST, LIMIT, Rig, within

OFTEN = Timing(first_wait=0.3, last_wait=1.0, clock_period=0.2)


def freeze(rig: Rig, *, still: bool) -> None:
    assert rig.process is not None
    os.kill(rig.process.pid, signal.SIGSTOP if still else signal.SIGCONT)


async def test_streams_wait_and_go_on(rig: Rig) -> None:
    agent = await rig.connect(OFTEN)
    session = await agent.exec(ExecRequest("read line; echo got $line"))
    agent.rest()
    freeze(rig, still=True)
    await session.write(b"it\n")
    await asyncio.sleep(1)  # five times the period of the clock's corrections
    freeze(rig, still=False)
    await agent.awaken(LIMIT)
    await session.write_eof()
    out, err = await within(collect(session))
    assert (out, err, session.exit_code) == (b"got it\n", b"", 0)
    await agent.close("done")


async def test_a_guest_that_does_not_go_on_is_told_and_found_again(rig: Rig) -> None:
    agent = await rig.connect(FAST)
    agent.rest()
    freeze(rig, still=True)
    with pytest.raises(Unavailable, match="did not answer within"):
        await agent.awaken(0.2)
    freeze(rig, still=False)
    await agent.wait_ready(LIMIT)
    await agent.close("done")


async def test_one_that_rests_from_the_beginning_is_left_in_peace() -> None:
    rig = Rig()
    relay = Relay(rig.socket)
    await relay.start()
    agent = await ChannelConnector(FAST).connect(rig.socket, "web")
    agent.rest()
    await asyncio.sleep(1)  # three times what it would wait for an answer
    assert relay.connections == 1
    assert not agent.ready
    await agent.close("done")
    await relay.stop()
    await rig.clean()
