"""The splice, with a server of the tests' own behind the front: ends, resets, stalls, limits."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from openboxd.api import front, front_splice
from openboxd.api.exchange import Exchange
from tests.api.sockets import LIMIT, connect, converse, until


@pytest.fixture
async def echo(tmp_path, keyed):
    """A front before a server of the test's own: what it does with each connection is `behave`."""
    path = Path(tmp_path / "echo.sock")
    state = SimpleNamespace(connections=[], ended=asyncio.Event())

    async def serve_one(reader, writer):
        state.connections.append((reader, writer))
        await state.behave(reader, writer)
        state.ended.set()

    listener = front.listen("127.0.0.1:0")
    state.front = front.Front(listener, path, Exchange(keyed), None, limit=20)
    state.address = f"127.0.0.1:{listener.getsockname()[1]}"
    async with await asyncio.start_unix_server(serve_one, path):
        task = asyncio.create_task(state.front.accept())
        yield state
        task.cancel()
        await asyncio.wait([task])
        await state.front.close(0)
        listener.close()
        for _, writer in state.connections:
            writer.close()


async def test_an_end_passes_in_its_direction_alone(echo):
    async def behave(reader, writer):
        data = await reader.read()  # to the end
        writer.write(data[::-1])
        await writer.drain()
        writer.close()

    echo.behave = behave
    reader, writer = await connect(echo.address)
    writer.write(b"PRI abc")
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), LIMIT) == b"cba IRP"
    writer.close()
    await until(lambda: echo.front.connections == 0)


async def test_the_server_may_end_first_and_still_listen(echo):
    got = []

    async def behave(reader, writer):
        writer.write(b"bye")
        writer.write_eof()
        got.append(await reader.read())
        writer.close()

    echo.behave = behave
    reader, writer = await connect(echo.address)
    writer.write(b"PRI ")
    assert await asyncio.wait_for(reader.read(), LIMIT) == b"bye"
    writer.write(b"last words")
    writer.write_eof()
    await asyncio.wait_for(echo.ended.wait(), LIMIT)
    assert got == [b"PRI last words"]
    writer.close()
    await until(lambda: echo.front.connections == 0)


async def test_a_client_that_resets_ends_the_other_side(echo):
    async def behave(reader, writer):
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    echo.behave = behave
    _, writer = await connect(echo.address)
    writer.write(b"PRI ")
    await until(lambda: echo.connections)
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    await asyncio.wait_for(echo.ended.wait(), LIMIT)
    await until(lambda: echo.front.connections == 0)


async def test_a_reader_that_stops_holds_the_writer_and_little_memory(echo):
    sent = 0

    async def behave(reader, writer):
        nonlocal sent
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(bytes(65536))
                await writer.drain()
                sent += 65536

    echo.behave = behave
    reader, writer = await connect(echo.address, limit=1024)
    writer.write(b"PRI ")
    seen = -1
    async with asyncio.timeout(LIMIT):
        while seen != sent or sent == 0:  # until nothing moves any more
            seen = sent
            await asyncio.sleep(0.3)
    print(f"{sent >> 10} KiB on the way to a client that does not read")
    assert sent < 32 << 20
    assert len(await asyncio.wait_for(reader.readexactly(8 << 20), LIMIT)) == 8 << 20
    await until(lambda: sent > seen)
    writer.transport.abort()
    await until(lambda: echo.front.connections == 0)


async def test_a_client_that_never_takes_the_last_bytes_is_given_up(monkeypatch):
    monkeypatch.setattr(front_splice, "LINGER", 0.3)
    loop = asyncio.get_running_loop()
    sides = front_splice.joined()
    (near, client), (far, backend) = socket.socketpair(), socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    await loop.connect_accepted_socket(lambda: sides[0], near)
    await loop.connect_accepted_socket(lambda: sides[1], far)
    backend.sendall(bytes(60_000))  # more than the socket takes, less than makes the writer wait
    backend.close()
    began = time.monotonic()
    async with asyncio.timeout(LIMIT):
        await sides[0].lost.wait()
        await sides[1].lost.wait()
    assert time.monotonic() - began > 0.25, "it had its chance"
    client.close()


async def test_beyond_the_limit_connections_are_turned_away_with_one_log_line(echo, caplog):
    async def behave(reader, writer):
        await reader.read()
        writer.close()

    echo.behave = behave
    opened = [await connect(echo.address) for _ in range(20)]
    await until(lambda: echo.front.connections == 20)
    for _ in range(3):
        with contextlib.suppress(ConnectionResetError):
            assert await converse(echo.address, b"PRI ") == b""
    assert [r.levelname for r in caplog.records if "turning away" in r.getMessage()] == ["WARNING"]
    for _, writer in opened:
        writer.close()
    await until(lambda: echo.front.connections == 0)
    reader, writer = await connect(echo.address)
    writer.write(b"PRI ")
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), LIMIT) == b""
    writer.close()
