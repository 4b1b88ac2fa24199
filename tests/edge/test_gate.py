"""A gate with real sockets: what passes, what waits, what is cut, and what a client sees of it."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from contextlib import suppress
from pathlib import Path

import pytest

from openboxd.edge.gate import Gate
from openboxd.edge.limits import Limits
from openboxd.edge.listener import listen_tcp, listen_unix
from openboxd.edge.streams import PIECE, Stream
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


async def test_dials_at_a_release_are_few_at_a_time() -> None:
    now, most = 0, 0
    guest = Guest()
    await guest.start(echo)

    async def dial() -> Stream:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        try:
            return await guest.dial()
        finally:
            now -= 1

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(dials=4))
    await gate.hold()
    clients = [await Client.connect(gate.port) for _ in range(40)]
    await until(lambda: gate.waiting == 40, "forty waiting connections")
    gate.release()
    assert [await c.ask(b"x") for c in clients] == [b"x"] * 40
    assert most == 4
    for client in clients:
        client.close()
    await gate.close()
    await guest.kill()


async def test_a_hold_gives_up_a_dial_under_way_and_the_client_does_not_notice() -> None:
    guest = Guest()
    await guest.start(echo)
    dials = 0
    hanging = asyncio.Event()

    async def dial() -> Stream:
        nonlocal dials
        dials += 1
        if dials == 1:  # the guest is being paused: no answer comes
            hanging.set()
            await asyncio.Event().wait()
        return await guest.dial()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port")
    client = await Client.connect(gate.port)
    question = asyncio.create_task(client.ask(b"sent before the hold"))
    await asyncio.wait_for(hanging.wait(), LIMIT)
    await gate.hold()
    await until(lambda: gate.waiting == 1, "the connection to wait")
    gate.release()
    assert await question == b"sent before the hold"
    assert dials == 2
    client.close()
    await gate.close()
    await guest.kill()


async def test_a_dial_that_ended_just_before_the_swap_is_not_used() -> None:
    """Held and released again before anybody could look: what the dial brought leads to the old guest."""
    old, new = Guest(), Guest()
    await old.start(saying(b"old\n"))
    await new.start(saying(b"new\n"))
    now = old
    gate: Gate

    async def dial() -> Stream:
        nonlocal now
        stream = await now.dial()
        if now is old:
            now = new
            asyncio.get_running_loop().call_soon(swap)
        return stream

    def swap() -> None:
        with suppress(StopIteration):
            gate.hold(drain=0).__await__().send(None)
        gate.release()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port")
    client = await Client.connect(gate.port)
    assert await asyncio.wait_for(client.reader.readline(), LIMIT) == b"new\n"
    client.close()
    await gate.close()
    await old.kill()
    await new.kill()


async def test_held_connections_are_patient_with_a_guest_that_is_not_ready_yet() -> None:
    async with guarded(limits=Limits(patience=LIMIT)) as (guest, gate):
        await gate.hold()
        await guest.kill()
        client = await Client.connect(gate.port)
        await until(lambda: gate.waiting == 1, "a waiting connection")
        gate.release()
        question = asyncio.create_task(client.ask(b"x"))
        await asyncio.sleep(0.1)
        await guest.start(echo)
        assert await question == b"x"
        client.close()


async def test_a_guest_that_is_swamped_is_asked_again_for_as_long_as_one_may_wait() -> None:
    """To connect in vain for a while is not to be refused: what listens there has too many at the door."""
    guest, dials = Guest(), 0
    await guest.start(echo)

    async def dial() -> Stream:
        nonlocal dials
        dials += 1
        if dials <= 3:
            raise TimeoutError("too many at once")
        return await guest.dial()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(patience=0))
    client = await Client.connect(gate.port)
    assert await client.ask(b"x") == b"x"
    assert dials == 4
    await gate.close()
    dials = -1000
    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(wait=0.3))
    turned_away = await Client.connect(gate.port)
    with pytest.raises(ConnectionResetError):
        await turned_away.rest()
    for each in (client, turned_away):
        each.close()
    await gate.close()
    await guest.kill()


async def test_patience_is_counted_from_the_first_dial_not_from_the_release() -> None:
    """One dial at a time: the last client's first one is when all patience since the release would be over."""
    guest = Guest()
    await guest.start(echo)
    dials = 0

    async def dial() -> Stream:
        nonlocal dials
        dials += 1
        if dials <= 6:
            await asyncio.sleep(0.2)
            raise ConnectionRefusedError
        return await guest.dial()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(patience=1.0, dials=1))
    await gate.hold()
    clients = [await Client.connect(gate.port) for _ in range(6)]
    await until(lambda: gate.waiting == 6, "waiting connections")
    gate.release()
    assert await asyncio.gather(*[client.ask(b"x") for client in clients]) == [b"x"] * 6
    for client in clients:
        client.close()
    await gate.close()
    await guest.kill()


async def test_a_refusal_by_the_guest_is_the_clients_at_once() -> None:
    async with guarded() as (guest, gate):
        await guest.kill()
        client = await Client.connect(gate.port)
        with pytest.raises(ConnectionResetError):
            await client.rest()
        client.close()


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
    await until(lambda: descriptors() == before, "all descriptors closed")


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
