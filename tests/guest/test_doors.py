"""Doors of the daemon in the guest: who comes there, what is carried, and what a hostile guest can do with them."""

from __future__ import annotations

import asyncio
import json
import os
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from openboxd.errors import BoxdError, Interrupted
from openboxd.guest import wire
from openboxd.guest.connector import ChannelAgent, ChannelConnector
from openboxd.guest.requests import MAX_VISITS
from openboxd.ports import GuestConnection
from tests.guest.rig import FAST, LABEL, LIMIT, PYTHON, Rig, until, within
from tests.guest.test_hostile import Guest, guest

__all__ = ["guest"]  # a fixture


class Daemon:
    """Answers about doors, and serves visits as the test wants."""

    def __init__(self, serve: Callable[[str, GuestConnection], Awaitable[None]]) -> None:
        self.open = True
        self.visits = 0
        self._serve = serve

    async def questions(self, socket: Path, question: dict[str, Any]) -> dict[str, Any]:
        return {"open": self.open} if question["op"] == "inside" else {}

    async def receive(self, socket: Path, door: str, visit: GuestConnection) -> None:
        self.visits += 1
        await self._serve(door, visit)

    async def connect(self, rig: Rig) -> ChannelAgent:
        connector = ChannelConnector(FAST, self.questions, self.receive)
        agent = await connector.connect(rig.socket, LABEL)
        await agent.wait_ready(LIMIT)
        return agent


async def echo(door: str, visit: GuestConnection) -> None:
    await visit.write(door.encode() + b":")
    while data := await visit.read():
        await visit.write(data)
    visit.write_eof()


async def test_what_goes_in_comes_out_and_both_ends_end(rig: Rig) -> None:
    daemon = Daemon(echo)
    agent = await daemon.connect(rig)
    await until(rig.cli.exists)
    assert rig.cli.stat().st_mode & 0o777 == 0o666
    sent = os.urandom(300_000) + wire.MARKER * 3 + os.urandom(300_000)
    reader, writer = await asyncio.open_unix_connection(rig.cli)

    async def say() -> None:
        writer.write(sent)
        await writer.drain()
        writer.write_eof()

    saying = asyncio.create_task(say())
    assert await within(reader.read()) == b"cli:" + sent
    await saying
    writer.close()
    await agent.close("the test is over")


async def test_doors_are_shut_when_the_daemon_says_so(rig: Rig) -> None:
    daemon = Daemon(echo)
    agent = await daemon.connect(rig)
    await until(rig.cli.exists)
    await agent.close("the daemon goes")
    daemon.open = False
    agent = await daemon.connect(rig)

    async def refused() -> bool:
        try:
            _, writer = await asyncio.open_unix_connection(rig.cli)
        except OSError:
            return True
        writer.close()
        return False

    async with asyncio.timeout(LIMIT):
        while not await refused():
            pass
    await agent.close("the test is over")


async def test_a_connection_ends_with_its_epoch_and_the_next_is_served(rig: Rig) -> None:
    ends: list[str] = []

    async def wait(door: str, visit: GuestConnection) -> None:
        await visit.write(b"in")
        try:
            await visit.read()
        except Interrupted as error:
            ends.append(error.message)
            raise

    daemon = Daemon(wait)
    agent = await daemon.connect(rig)
    await until(rig.cli.exists)
    reader, writer = await asyncio.open_unix_connection(rig.cli)
    assert await within(reader.readexactly(2)) == b"in"
    await agent.close("the machine was restored")
    agent = await daemon.connect(rig)
    assert await within(reader.read()) == b""
    assert ends == ["the machine was restored"]
    writer.close()
    reader, writer = await asyncio.open_unix_connection(rig.cli)
    assert await within(reader.readexactly(2)) == b"in"
    writer.close()
    await agent.close("the test is over")


async def test_who_finds_no_room_waits(rig: Rig) -> None:
    gone = asyncio.Event()

    async def hold(door: str, visit: GuestConnection) -> None:
        await visit.write(b"in")
        await gone.wait()

    daemon = Daemon(hold)
    agent = await daemon.connect(rig)
    await until(rig.cli.exists)
    ends = [await asyncio.open_unix_connection(rig.cli) for _ in range(40)]
    await until(lambda: daemon.visits == 30)
    gone.set()
    assert await within(asyncio.gather(*(reader.read() for reader, _ in ends))) == [b"in"] * 40
    for _, writer in ends:
        writer.close()
    await agent.close("the test is over")


# -- the program


async def run_command(rig: Rig, *args: str, stdin: bytes = b"") -> tuple[int | None, bytes, bytes]:
    code = (
        f"import sys; sys.path.insert(0, {str(rig.program)!r})\n"
        f"from openboxd.guest.agent import api_cli\napi_cli.SOCKET = {str(rig.cli)!r}\napi_cli.main()"
    )
    process = await asyncio.create_subprocess_exec(
        PYTHON, "-I", "-S", "-c", code, *args, stdin=-1, stdout=-1, stderr=-1
    )
    out, err = await within(process.communicate(stdin))
    return process.returncode, out, err


def frames(data: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    while len(data) >= 5 and len(data) >= (end := 5 + int.from_bytes(data[1:5], "big")):
        found.append((data[:1], data[5:end]))
        data = data[end:]
    return found


def frame(kind: bytes, data: bytes = b"") -> bytes:
    return kind + len(data).to_bytes(4, "big") + data


async def collect(visit: GuestConnection, kind: bytes) -> list[tuple[bytes, bytes]]:
    """What the guest says up to a frame of this kind."""
    data = b""
    while not any(each == kind for each, _ in frames(data)):
        data += await visit.read()
    return frames(data)


async def test_the_command_plays_the_daemons_streams(rig: Rig) -> None:
    told: list[tuple[bytes, bytes]] = []

    async def serve(door: str, visit: GuestConnection) -> None:
        told.extend(await collect(visit, b"E"))
        await visit.write(frame(b"O", b"out" * 50_000) + frame(b"X", b"err") + frame(b"C", b"\x07"))

    agent = await Daemon(serve).connect(rig)
    await until(rig.cli.exists)
    assert await run_command(rig, "a", "b c", stdin=b"in" * 40_000) == (7, b"out" * 50_000, b"err")
    fields = told[0][1].split(b"\0")
    assert fields[-2:] == [b"arg=a", b"arg=b c"]
    assert b"tty=000" in fields
    assert b"".join(data for kind, data in told if kind == b"I") == b"in" * 40_000
    await agent.close("the test is over")


async def test_a_command_whose_connection_is_lost_ends_with_a_word(rig: Rig) -> None:
    async def serve(door: str, visit: GuestConnection) -> None:
        await collect(visit, b"S")

    agent = await Daemon(serve).connect(rig)
    await until(rig.cli.exists)
    status, out, err = await run_command(rig, "ls")
    assert (status, out) == (125, b"") and b"this machine was restored or restarted" in err
    await agent.close("the test is over")
    rig.cli.unlink()
    status, out, err = await run_command(rig, "ls")
    assert status == 125 and b"no way to boxd" in err


async def test_a_command_that_is_kept_comes_back_for_its_outcome(rig: Rig) -> None:
    asked: list[tuple[bytes, bytes]] = []

    async def serve(door: str, visit: GuestConnection) -> None:
        first = await collect(visit, b"A" if asked else b"S")
        asked.append(first[0])
        if len(asked) == 1:
            await visit.write(frame(b"R", b"0123"))
            await collect(visit, b"R")
        else:
            await visit.write(frame(b"X", b"it failed\n") + frame(b"C", b"\x03"))

    agent = await Daemon(serve).connect(rig)
    await until(rig.cli.exists)
    assert await run_command(rig, "machine", "guard", "--", "x") == (3, b"", b"it failed\n")
    assert asked[1] == (b"A", b"0123")
    await agent.close("the test is over")


# -- a hostile guest


def visit_of(number: int, door: str = "api") -> bytes:
    return wire.frame(wire.OPEN, wire.GUEST_STREAM | number, json.dumps({"op": "visit", "door": door}).encode())


async def hostile(guest: Guest, serve: Callable[[str, GuestConnection], Awaitable[None]]) -> ChannelAgent:
    daemon = Daemon(serve)
    agent = await ChannelConnector(FAST, daemon.questions, daemon.receive).connect(guest.path, "web")
    await agent.wait_ready(LIMIT)
    return agent


async def never(door: str, visit: GuestConnection) -> None:
    await asyncio.Event().wait()


FAULTS = {
    "data beyond the credit": [wire.frame(wire.DATA, wire.GUEST_STREAM | 1, bytes(32_000))] * 3,
    "an id that is in use": [visit_of(1)],
    "credit beyond measure": [wire.frame(wire.WIN, wire.GUEST_STREAM | 1, b"\xff\xff\xff\xff")],
    "a short WIN": [wire.frame(wire.WIN, wire.GUEST_STREAM | 1, b"\xff")],
    "an unknown type": [wire.frame(0x66, wire.GUEST_STREAM | 1, b"")],
    "a result that is no JSON": [wire.frame(wire.RESULT, wire.GUEST_STREAM | 1, b"{" * 100)],
    "a door that is no object": [wire.frame(wire.OPEN, wire.GUEST_STREAM | 2, b'["visit"]')],
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_begins_a_new_epoch_and_ends_the_visits(guest: Guest, name: str) -> None:
    ended: list[BoxdError] = []

    async def wait(door: str, visit: GuestConnection) -> None:
        try:
            await asyncio.Event().wait() if name == "data beyond the credit" else await visit.read()
        except Interrupted as error:
            ended.append(error)
            raise

    agent = await hostile(guest, wait)
    epochs = guest.epochs
    guest.send(visit_of(1) + b"".join(FAULTS[name]))
    await until(lambda: guest.epochs > epochs)
    if name != "data beyond the credit":
        await until(lambda: bool(ended))
    await agent.wait_ready(LIMIT)
    await agent.close("the test is over")


async def test_floods_of_visits_are_bounded_in_number_and_in_memory(guest: Guest) -> None:
    resets: set[int] = set()

    async def on_frame(_: Guest, kind: int, ident: int, payload: bytes) -> None:
        if kind == wire.RESET:
            resets.add(ident)

    guest.on_frame = on_frame
    agent = await hostile(guest, never)
    tracemalloc.start()
    try:
        full = wire.frame(wire.DATA, 0, bytes(32_000))
        for number in range(200):
            ident = wire.GUEST_STREAM | number
            guest.send(visit_of(number) + full[:4] + ident.to_bytes(3, "big") + full[7:])
        await until(lambda: len(resets) == 200 - MAX_VISITS)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"held for a machine that floods: {held // 1024} KiB")
    assert held < 8 * 1024 * 1024
    await agent.close("the test is over")


async def test_a_machine_that_floods_does_not_slow_another(guest: Guest, rig: Rig) -> None:
    bad = await hostile(guest, never)
    daemon = Daemon(echo)
    good = await daemon.connect(rig)
    await until(rig.cli.exists)
    flooding = asyncio.Event()

    async def flood() -> None:
        number = 0
        while not flooding.is_set():
            number += 1
            ident = wire.GUEST_STREAM | number
            guest.send(visit_of(number) + wire.frame(wire.RESET, ident, b"{}"))
            await asyncio.sleep(0)

    task = asyncio.create_task(flood())
    loop = asyncio.get_running_loop()
    waits = []
    for _ in range(20):
        began = loop.time()
        reader, writer = await asyncio.open_unix_connection(rig.cli)
        writer.write_eof()
        assert await within(reader.read()) == b"cli:"
        writer.close()
        waits.append(loop.time() - began)
    flooding.set()
    await task
    print(f"beside a flood a visit takes {sorted(waits)[10] * 1000:.1f} ms, {max(waits) * 1000:.1f} at worst")
    await bad.close("the test is over")
    await good.close("the test is over")
