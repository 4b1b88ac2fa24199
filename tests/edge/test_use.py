"""Gates tell who uses a machine: idle timers go by it, and those who wait wake it or are turned away."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.edge.gates import Gates
from openboxd.model import Way
from tests.edge.agents import FakeAgent
from tests.edge.guests import Client, echo, until
from tests.lab import free_port


@pytest.fixture
async def gates(tmp_path: Path) -> AsyncIterator[Gates]:
    made = Gates(tmp_path / "gates", "127.0.0.1")
    yield made
    await made.close()


@pytest.fixture
async def agent() -> AsyncIterator[FakeAgent]:
    made = FakeAgent()
    await made.serve(8000, echo)
    yield made
    await made.end()


async def test_coming_sending_and_leaving_are_told_and_an_open_connection_is_use(
    gates: Gates, agent: FakeAgent
) -> None:
    told: list[str] = []
    gates.on_use(told.append)
    port = free_port()
    await gates.arrange("m1", "web", [Way(8000, public_port=port)])
    await gates.open("m1", agent)
    assert not gates.in_use("m1") and not gates.in_use("nobody")
    client = await Client.connect(port)
    assert await client.ask(b"x") == b"x"
    assert gates.in_use("m1") and len(told) >= 2
    told.clear()
    await asyncio.sleep(0.05)
    assert told == [], "an open connection on which nothing comes tells nothing"
    assert await client.ask(b"y") == b"y"
    assert told == ["m1"]
    client.close()
    await until(lambda: not gates.in_use("m1"), "the end of the connection")
    assert told[-1] == "m1" and len(told) > 1


async def test_who_waits_is_told_again_and_again_and_let_in_when_it_opens(gates: Gates, agent: FakeAgent) -> None:
    told: list[str] = []
    gates.on_use(told.append)
    port = free_port()
    await gates.arrange("m1", "web", [Way(8000, public_port=port)])  # held, as one that sleeps is
    client = await Client.connect(port)
    await until(lambda: len(told) >= 3, "told more than once")
    assert gates.in_use("m1")
    await gates.open("m1", agent)
    assert await client.ask(b"x") == b"x"
    client.close()


async def test_who_waits_in_vain_is_turned_away_in_words_and_who_comes_later_waits(
    tmp_path: Path, gates: Gates, agent: FakeAgent
) -> None:
    await gates.arrange("m1", "web", [Way(8000, host="web")])
    reader, writer = await asyncio.open_unix_connection(tmp_path / "gates" / "web")
    writer.write(b"GET / HTTP/1.1\r\nhost: web\r\n\r\n")
    await until(lambda: gates.in_use("m1"), "a connection that waits")
    await asyncio.sleep(0.05)
    gates.turn_away("m1", "machine 'web' cannot be woken")
    answer = await asyncio.wait_for(reader.read(), 60)
    assert answer.startswith(b"HTTP/1.1 503") and b"machine 'web' cannot be woken" in answer
    writer.close()
    later = Client(*await asyncio.open_unix_connection(tmp_path / "gates" / "web"))
    await gates.open("m1", agent)
    assert await later.ask(b"x") == b"x"
    later.close()
    gates.turn_away("nobody", "it is harmless")


async def test_a_datagram_is_use_also_where_it_is_dropped(gates: Gates) -> None:
    told: list[str] = []
    gates.on_use(told.append)
    port = free_port()
    await gates.arrange("m1", "web", [Way(53, public_port=port, protocol="udp")])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))
        await until(lambda: told, "a datagram")
    assert told == ["m1"] and not gates.in_use("m1")
