"""A gate with real sockets: what passes, what waits, what is cut, and what a client sees of it."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path

import pytest

from openboxd.edge.gate import Gate
from openboxd.edge.listener import listen_unix
from openboxd.edge.streams import PIECE
from openboxd.edge.turns import GateState
from tests.edge.guests import LIMIT, Client, Guest, echo, guarded, saying, shrink, until


async def test_bytes_pass_both_ways_and_each_end_passes_alone() -> None:
    async with guarded() as (_, gate):
        client = await Client.connect(gate.port)
        data = os.urandom(3 * 1024 * 1024)
        client.writer.write(data)
        client.writer.write_eof()
        assert await client.rest() == data
        await until(lambda: gate.established == 0, "the end of the connection")
        client.close()


async def test_the_end_of_the_servers_half_leaves_the_clients_half_open() -> None:
    got = asyncio.Future[bytes]()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.write_eof()
        got.set_result(await reader.read())

    async with guarded(handler) as (_, gate):
        client = await Client.connect(gate.port)
        assert await client.rest() == b"bye"
        client.writer.write(b"still here")
        client.writer.write_eof()
        assert await asyncio.wait_for(got, LIMIT) == b"still here"
        client.close()


async def test_a_server_that_speaks_first_is_heard() -> None:
    async with guarded(saying(b"SSH-2.0-x\r\n")) as (_, gate):
        client = await Client.connect(gate.port)
        assert await asyncio.wait_for(client.reader.readline(), LIMIT) == b"SSH-2.0-x\r\n"
        client.close()


async def test_new_connections_wait_for_the_swap_and_reach_the_new_guest() -> None:
    async with guarded(saying(b"old\n")) as (guest, gate):
        before = await Client.connect(gate.port)
        assert await before.reader.readline() == b"old\n"
        await gate.hold(drain=0.05)
        with pytest.raises(ConnectionResetError):
            await before.rest()
        await guest.kill()
        began = time.monotonic()
        waiting = [await Client.connect(gate.port) for _ in range(5)]
        await until(lambda: gate.waiting == 5, "five waiting connections")
        seen = time.monotonic()
        await guest.start(saying(b"new\n"))
        least = time.monotonic() - seen
        held = gate.release()
        assert held.connections == 5
        assert 1000 * least - 1 <= held.longest_ms <= 1000 * (time.monotonic() - began) + 1
        for client in waiting:
            assert await asyncio.wait_for(client.reader.readline(), LIMIT) == b"new\n"
            client.close()
        assert gate.release().connections == 0


async def test_an_answer_under_way_is_let_out_before_the_cut() -> None:
    release = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        await release.wait()
        writer.write(b"whole answer")

    async with guarded(slow) as (_, gate):
        client = await Client.connect(gate.port)
        client.writer.write(b"?")
        client.writer.write_eof()
        await until(lambda: gate.established == 1, "the connection")
        hold = asyncio.create_task(gate.hold(drain=LIMIT))
        await until(lambda: gate.state is GateState.HELD, "the hold")
        release.set()
        assert await client.rest() == b"whole answer"
        await asyncio.wait_for(hold, LIMIT / 2)
        client.close()


async def test_cut_ends_who_is_in_and_lets_the_next_one_in() -> None:
    async with guarded() as (_, gate):
        client = await Client.connect(gate.port)
        assert await client.ask(b"one") == b"one"
        await gate.cut()
        with pytest.raises(ConnectionResetError):
            await client.rest()
        again = await Client.connect(gate.port)
        assert await again.ask(b"two") == b"two"
        again.close()


async def test_a_slow_reader_makes_its_writer_wait() -> None:
    """The gate takes in no more than a piece in each direction and what the kernel's buffers hold."""
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        shrink(writer.get_extra_info("socket"))
        writer.transport.set_write_buffer_limits(high=0)
        while True:
            writer.write(bytes(PIECE))
            await writer.drain()
            sent += PIECE

    async with guarded(flood) as (_, gate):
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port, limit=1024)
        last = -1
        async with asyncio.timeout(LIMIT):
            while sent != last or sent == 0:  # until nothing moves any more
                last = sent
                await asyncio.sleep(0.3)
        assert sent < 32 * 1024 * 1024
        for _ in range(100):
            await reader.readexactly(PIECE)  # and it goes on when it reads again
        writer.transport.abort()


async def test_five_hundred_connections_at_once_before_during_and_after_a_hold() -> None:
    async with guarded() as (guest, gate):
        clients = await asyncio.gather(*[Client.connect(gate.port) for _ in range(500)])
        answers = await asyncio.gather(*[c.ask(b"%d" % n) for n, c in enumerate(clients)])
        assert answers == [b"%d" % n for n in range(500)]
        assert gate.established == 500
        await gate.hold(drain=0)
        assert gate.established == 0
        for client in clients:
            client.close()
        clients = await asyncio.gather(*[Client.connect(gate.port) for _ in range(500)])
        questions = [asyncio.create_task(c.ask(b"%d" % n)) for n, c in enumerate(clients)]
        await until(lambda: gate.waiting == 500, "500 waiting connections")
        assert gate.release().connections == 500
        assert await asyncio.gather(*questions) == [b"%d" % n for n in range(500)]
        for client in clients:
            client.close()
        await until(lambda: gate.established == 0, "the end of all")
        assert guest.accepted == 1000


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_closing_leaves_no_descriptor_behind() -> None:
    before = descriptors()
    async with guarded() as (_, gate):
        clients = [await Client.connect(gate.port) for _ in range(20)]
        assert [await c.ask(b"x") for c in clients] == [b"x"] * 20
        await gate.hold(drain=0)
        waiting = [await Client.connect(gate.port) for _ in range(20)]
        await until(lambda: gate.waiting == 20, "twenty waiting connections")
    for client in (*clients, *waiting):
        client.close()
    await until(lambda: descriptors() <= before, "all descriptors closed")


async def test_a_host_without_descriptors_makes_clients_wait_not_the_gate_die() -> None:
    async with guarded() as (guest, gate):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        next_free = os.dup(0)
        os.close(next_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (next_free + 1, hard))
        try:
            client = await Client.connect(gate.port)  # takes the last one
            question = asyncio.create_task(client.ask(b"x"))
            done, _ = await asyncio.wait({question}, timeout=0.3)
            assert not done
            assert guest.accepted == 0
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert await question == b"x"
        client.close()


async def test_a_new_daemon_takes_a_name_over_from_a_killed_one(tmp_path: Path) -> None:
    """And the name may be longer than a socket address: the HTTPS front dials it by a relative path."""
    path = tmp_path / ("l" * 63 + "." + "m" * 40)
    listen_unix(path).close()  # killed: the name stays, nobody answers
    guest = Guest()
    await guest.start(echo)
    gate = Gate(listen_unix(path), guest.dial, "the port")
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        reader, writer = await asyncio.open_unix_connection(path.name)
    finally:
        os.chdir(here)
    client = Client(reader, writer)
    assert await client.ask(b"x") == b"x"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    client.close()
    await gate.close()
    await guest.kill()
