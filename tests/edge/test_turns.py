"""Who is kept waiting at a gate or turned away, and what they are told."""

from __future__ import annotations

import asyncio
import os

import pytest

from openboxd.edge.limits import Limits
from tests.edge.guests import Client, echo, guarded, until


async def ask_http(port: int, body: bytes = b"") -> bytes:
    client = await Client.connect(port)
    client.writer.write(b"POST / HTTP/1.1\r\nHost: web\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    client.writer.write_eof()
    answer = await client.rest()
    client.close()
    return answer


async def test_http_clients_are_told_why() -> None:
    async with guarded(http=True, limits=Limits(patience=0)) as (guest, gate):
        await guest.kill()
        refused = await ask_http(gate.port)
        assert refused.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        assert refused.endswith(b"nothing answers on port 8000 of machine 'web'\n")
        await gate.shut("machine 'web' is stopped; start it first")
        shut = await ask_http(gate.port, os.urandom(300_000))
        assert shut.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"Retry-After: 30\r\n" in shut
        assert shut.endswith(b"machine 'web' is stopped; start it first\n")
        await guest.start(echo)
        gate.release()
        assert (await ask_http(gate.port, b"let through")).endswith(b"let through")


async def test_shutting_turns_those_away_who_wait() -> None:
    async with guarded(http=True) as (_, gate):
        await gate.hold()
        asking = asyncio.create_task(ask_http(gate.port))
        await until(lambda: gate.waiting == 1, "a waiting request")
        await gate.shut("machine 'web' is stopped; start it first")
        assert (await asking).endswith(b"machine 'web' is stopped; start it first\n")


async def test_waiting_has_a_limit_in_time() -> None:
    async with guarded(http=True, limits=Limits(wait=0.2)) as (_, gate):
        await gate.hold()
        late = await ask_http(gate.port)
        assert late.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5\r\n" in late
        held = gate.release()
        assert held.connections == 1
        assert held.longest_ms >= 200


async def test_waiting_has_a_limit_in_number_and_who_leaves_frees_a_place() -> None:
    async with guarded(limits=Limits(held=3)) as (_, gate):
        await gate.hold()
        clients = [await Client.connect(gate.port) for _ in range(3)]
        await until(lambda: gate.waiting == 3, "three waiting connections")
        fourth = await Client.connect(gate.port)
        with pytest.raises(ConnectionResetError):
            await fourth.rest()
        clients[0].writer.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # leave with a reset
        clients[0].close()
        await until(lambda: gate.waiting == 2, "the place of the one that left")
        fifth = await Client.connect(gate.port)
        await until(lambda: gate.waiting == 3, "the next one to wait")
        gate.release()
        assert await fifth.ask(b"x") == b"x"
        for client in (*clients, fourth, fifth):
            client.close()


async def test_connections_have_a_limit() -> None:
    async with guarded(limits=Limits(connections=2)) as (_, gate):
        clients = [await Client.connect(gate.port) for _ in range(2)]
        assert [await c.ask(b"x") for c in clients] == [b"x", b"x"]
        third = await Client.connect(gate.port)
        with pytest.raises(ConnectionResetError):
            await third.rest()
        for client in (*clients, third):
            client.close()
