"""A guest that sends what no agent sends: the daemon keeps its memory and its temper."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from openboxd.errors import BoxdError, Interrupted, OperationFailed, OutcomeUnknown, WrongState
from openboxd.guest import wire
from openboxd.guest.connector import ChannelAgent, ChannelConnector
from openboxd.guest.timing import Timing
from openboxd.model import ExecRequest
from tests.guest.rig import LIMIT, until, within

Records = Callable[["Guest", int, int, bytes], Awaitable[None]]


class Guest:
    """Speaks the beginning of the protocol well; what else it does with each frame is up to the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.epochs = 0
        self.pongs = True
        self.on_frame: Records | None = None
        self.on_sync: Callable[[bytes], bytes] = lambda nonce: wire.sync(nonce) + wire.frame(wire.HELLO, 0, b"{}")
        self.writer: asyncio.StreamWriter | None = None

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        parser = wire.Parser(hunting=True)
        try:
            while data := await reader.read(1 << 16):
                for kind, ident, payload in parser.feed(data):
                    if kind == wire.SYNC:
                        self.epochs += 1
                        writer.write(self.on_sync(payload))
                    elif kind == wire.PING:
                        if not self.pongs:
                            continue
                        writer.write(wire.pong(wire.ping_token(payload), 0, 0))
                    elif self.on_frame is not None and ident:
                        await self.on_frame(self, kind, ident, payload)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def send(self, data: bytes) -> None:
        assert self.writer is not None
        self.writer.write(data)


@pytest.fixture
async def guest() -> AsyncIterator[Guest]:
    base = Path(tempfile.mkdtemp(prefix="boxd-hostile-"))
    guest = Guest(base / "s")
    server = await asyncio.start_unix_server(guest.connected, guest.path)
    yield guest
    server.close()
    shutil.rmtree(base)


@pytest.fixture
async def agent(guest: Guest) -> AsyncIterator[ChannelAgent]:
    agent = await ChannelConnector(Timing(first_wait=0.3, restarts=8)).connect(guest.path, "web")
    await agent.wait_ready(LIMIT)
    yield agent
    await agent.close("the test is over")


def answer(*frames: Callable[[int], bytes]) -> Records:
    """Answer every OPEN with these frames."""

    async def on_frame(guest: Guest, kind: int, ident: int, payload: bytes) -> None:
        if kind == wire.OPEN:
            guest.send(b"".join(frame(ident) for frame in frames))

    return on_frame


def of(kind: int, payload: bytes) -> Callable[[int], bytes]:
    return lambda ident: wire.frame(kind, ident, payload)


FAULTS = {
    "garbage": b"\xaa" * 50,
    "a bad trailer": wire.frame(wire.CTL, 0, b"{}")[:-1] + b"\x01",
    "a long frame": b"\x00\x10\xff\xff\x00\x00\x01\x00" + bytes(70_000),
    "an answer to nothing": wire.frame(wire.RESULT, 4711, b"{}"),
    "an unknown type": wire.frame(0x77, 0, b""),
    "a short pong": wire.frame(wire.PONG, 0, b"123"),
    "streams without end": b"".join(wire.frame(wire.OPEN, wire.GUEST_STREAM + n, b"{}") for n in range(1001)),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_begins_a_new_epoch(guest: Guest, agent: ChannelAgent, name: str) -> None:
    epochs = guest.epochs
    guest.send(FAULTS[name])
    await until(lambda: guest.epochs > epochs)
    await agent.wait_ready(LIMIT)


CALL_FAULTS = {
    "data beyond the credit": [of(wire.CTL, b"{}"), *[of(wire.STDOUT, bytes(32_000))] * 5],
    "JSON that is none": [of(wire.RESULT, b"{" * 30_000)],
    "deep JSON": [of(wire.RESULT, b"[" * 30_000)],
    "JSON that is no object": [of(wire.RESULT, b"[]")],
    "credit beyond measure": [of(wire.WIN, b"\xff\xff\xff\xff")],
    "a short WIN": [of(wire.WIN, b"\xff")],
    "an unknown type": [of(0x55, b"")],
}


@pytest.mark.parametrize("name", CALL_FAULTS)
async def test_a_fault_on_a_stream_interrupts_it(guest: Guest, agent: ChannelAgent, name: str) -> None:
    guest.on_frame = answer(*CALL_FAULTS[name])
    with pytest.raises(Interrupted, match="machine web sent nonsense"):
        session = await within(agent.exec(ExecRequest("x")))
        async for _ in session.output():
            await until(lambda: not agent.ready)  # keep from reading, which would grant more


async def test_an_agent_that_breaks_off_for_ever_is_given_up(guest: Guest, agent: ChannelAgent) -> None:
    guest.on_sync = lambda nonce: wire.sync(nonce) + wire.frame(wire.HELLO, 0, b"{}") + b"\xaa" * 20
    guest.send(b"\xaa" * 20)
    with pytest.raises(Interrupted, match="given up; restore a checkpoint"):
        while True:
            await within(agent.wait_ready(LIMIT))
            await asyncio.sleep(0)
    assert guest.epochs < 15
    with pytest.raises(Interrupted, match="given up"):
        await agent.exec(ExecRequest("true"))


async def test_a_flood_of_restarts_is_given_up(guest: Guest, agent: ChannelAgent) -> None:
    guest.on_sync = lambda nonce: wire.sync(nonce) + wire.frame(wire.HELLO, 0, b"{}") + wire.sync(wire.SYNC_ME) * 1000
    guest.send(wire.sync(wire.SYNC_ME))
    with pytest.raises(Interrupted, match="given up"):
        while True:
            await within(agent.wait_ready(LIMIT))
            await asyncio.sleep(0)
    assert guest.epochs < 15


async def test_crumbs_take_no_more_memory_than_they_hold(guest: Guest, agent: ChannelAgent) -> None:
    crumbs = (wire.frame(wire.STDOUT, 1, b"x") * 10 + wire.frame(wire.STDOUT, 1)) * 10_000
    guest.on_frame = answer(of(wire.CTL, b"{}"))
    session = await agent.exec(ExecRequest("x"))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    guest.send(crumbs + wire.frame(wire.RESULT, 1, b'{"exit":0}'))
    await until(lambda: session._call.over)
    assert tracemalloc.get_traced_memory()[0] - before < 2_000_000
    tracemalloc.stop()
    assert sum([len(piece.data) async for piece in session.output()]) == 100_000


@pytest.mark.parametrize("size", [-1, "x", None, 1 << 70])
async def test_sizes_that_are_none_do_not_pass(guest: Guest, agent: ChannelAgent, size: object) -> None:
    guest.on_frame = answer(of(wire.CTL, json.dumps({"size": size}).encode()), of(wire.RESULT, b"{}"))
    with pytest.raises((OperationFailed, WrongState)):
        _, content = await within(agent.download("f"))
        async for _ in content:
            pass


LISTINGS = [
    b"\n",
    b"[]\n",
    b'["../x",1,1,"",1,1]\n',
    b'["a",1,"x","",1,1]\n',
    b'["",1,1,"",1,1]\n',
    b"[" * 30_000 + b"\n",
]


@pytest.mark.parametrize("listing", LISTINGS, ids=range(len(LISTINGS)))
async def test_a_malformed_listing_is_an_error(guest: Guest, agent: ChannelAgent, listing: bytes) -> None:
    guest.on_frame = answer(of(wire.DATA, listing), of(wire.RESULT, b"{}"))
    with pytest.raises(OperationFailed, match="machine web"):
        await within(agent.list_dir(".", 10_000))


async def test_messages_are_cut_and_cleaned(guest: Guest, agent: ChannelAgent) -> None:
    text = json.dumps({"error": "state", "message": "\x1b[2Jfoul\n" + "x" * 20_000}).encode()
    guest.on_frame = answer(of(wire.RESULT, text))
    with pytest.raises(WrongState) as refused:
        await within(agent.mkdir("d"))
    assert refused.value.message.startswith("machine web: \ufffd[2Jfoul\ufffdxxx")
    assert len(refused.value.message) < 1100


async def test_noise_of_any_kind_ends_in_errors_of_ours(guest: Guest, agent: ChannelAgent) -> None:
    """A second of random bytes between real beginnings."""
    noise = [os.urandom(n) for n in (1, 33, 999, 30_000)]
    count = 0

    async def on_frame(guest: Guest, kind: int, ident: int, payload: bytes) -> None:
        nonlocal count
        count += 1
        guest.send(wire.frame(count % 256, ident, noise[count % 3]))

    guest.on_frame = on_frame
    for _ in range(6):
        try:
            await within(agent.wait_ready(LIMIT))
            await within(agent.mkdir("d"))
        except BoxdError as error:
            assert "web" in error.message


USELESS = {
    "words on no stream": wire.frame(wire.CTL, 0, b"{}"),
    "pongs": wire.pong(4711, 0, 0),
    "greetings": wire.frame(wire.HELLO, 0, b"{}"),
    "data for a question": wire.frame(wire.DATA, wire.GUEST_STREAM + 1, b"x"),
    "answers to what was given up": wire.frame(wire.RESULT, 1, b"{}"),
    "beginnings of others": wire.sync(b"\x07" * 16),
}


@pytest.mark.parametrize("name", USELESS)
async def test_what_nobody_asked_for_costs_little_and_comes_to_an_end(
    guest: Guest, agent: ChannelAgent, name: str
) -> None:
    """A guest that floods the channel with well-formed frames is given up after a second or two of our time."""
    guest.on_frame = answer(of(wire.RESULT, b"{}"))
    await within(agent.mkdir("d"))  # stream 1 is over

    async def flood() -> None:
        while guest.writer is not None:
            guest.send(USELESS[name] * 10_000)
            try:
                await guest.writer.drain()
            except ConnectionError:
                pass  # cut off: the next connection is flooded as well
            await asyncio.sleep(0)

    flooding = asyncio.ensure_future(flood())
    began = time.process_time()
    try:
        with pytest.raises(Interrupted, match="given up"):
            while True:
                await within(agent.wait_ready(LIMIT))
                await asyncio.sleep(0.01)
    finally:
        flooding.cancel()
    print(f"{name}: {time.process_time() - began:.1f} s of CPU for both ends until it was given up")


async def test_what_is_left_over_from_before_is_no_flood(guest: Guest, agent: ChannelAgent) -> None:
    epochs = guest.epochs
    guest.on_frame = answer(of(wire.RESULT, b"{}"))
    await within(agent.mkdir("d"))
    guest.send(wire.frame(wire.DATA, 1, bytes(32_000)) * 500 + wire.frame(wire.DATA, 1, b"x") * 15_000)
    await within(agent.mkdir("d"))
    assert guest.epochs == epochs and agent.ready


async def test_a_guest_without_a_sign_of_life_is_told_of(guest: Guest) -> None:
    """As one whose QEMU is stopped: whatever waits for it ends in words; a command that runs may go on waiting."""
    agent = await ChannelConnector(Timing(first_wait=0.3, silence=1.5)).connect(guest.path, "web")
    await agent.wait_ready(LIMIT)
    guest.on_frame = answer(of(wire.CTL, b'{"size": 5}'))
    session = await within(agent.exec(ExecRequest("sleep 1d")))
    _, content = await within(agent.download("f"))
    output = asyncio.ensure_future(anext(session.output()))
    guest.pongs = False
    guest.on_frame = None

    async def nothing() -> AsyncIterator[bytes]:
        yield b"x"

    async def read() -> None:
        async for _ in content:
            pass

    calls: list[Awaitable[object]] = [
        agent.exec(ExecRequest("x")),
        agent.mkdir("d"),
        agent.upload("f", 1, nothing()),
        agent.list_dir(".", 10),
        agent.dial(80),
        agent.listeners(),
        read(),
    ]
    for told in await within(asyncio.gather(*calls, return_exceptions=True)):
        assert isinstance(told, OutcomeUnknown) and "machine web has given no sign of life" in str(told), told
    assert not output.done()
    guest.pongs = True
    guest.on_frame = answer(of(wire.RESULT, b"{}"))
    await within(agent.mkdir("d"))
    output.cancel()
    await agent.close("the test is over")


async def test_a_slow_answer_is_waited_for(guest: Guest) -> None:
    agent = await ChannelConnector(Timing(first_wait=0.3, silence=1.0)).connect(guest.path, "web")
    await agent.wait_ready(LIMIT)

    async def later(guest: Guest, kind: int, ident: int, payload: bytes) -> None:
        if kind == wire.OPEN:
            asyncio.get_running_loop().call_later(3.0, guest.send, wire.frame(wire.RESULT, ident, b"{}"))

    guest.on_frame = later
    await within(agent.mkdir("d"))  # the guest answers what asks whether it lives
    await agent.close("the test is over")
