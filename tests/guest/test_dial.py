"""Connections to services of the guest, and finding them."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from openboxd.errors import Exhausted, Interrupted, InvalidArgument, WrongState
from openboxd.guest.connector import ChannelAgent
from openboxd.guest.dial import GuestConnection
from tests.guest.rig import Rig, until, within
from tests.lab import free_port

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def service(serve: Serve, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """A TCP service on this host, which is where the rig's agent runs; its port."""

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    port = 0 if host == "127.0.0.1" else free_port()  # nobody's in IPv4 either, where an agent looks first
    server = await asyncio.start_server(closing, host, port, backlog=1024)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def read_all(connection: GuestConnection) -> bytes:
    return b"".join([piece async for piece in pieces(connection)])


async def pieces(connection: GuestConnection) -> AsyncIterator[bytes]:
    while piece := await within(connection.read()):
        yield piece


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_bytes_go_both_ways_and_each_direction_ends_by_itself(agent: ChannelAgent, host: str) -> None:
    async with service(echo, host) as port:
        connection = await agent.dial(port)
        content = os.urandom(3_000_000)

        async def feed() -> None:
            await connection.write(content)
            connection.write_eof()

        feeding = asyncio.create_task(feed())
        assert await read_all(connection) == content
        await feeding


async def test_the_service_may_speak_first_and_end_first(agent: ChannelAgent) -> None:
    received = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-x\r\n")
        writer.write_eof()
        received.set_result(await reader.read())

    async with service(serve) as port:
        connection = await agent.dial(port)
        assert await read_all(connection) == b"SSH-2.0-x\r\n"
        await connection.write(b"still heard")
        connection.write_eof()
        assert await within(received) == b"still heard"


async def test_a_connection_that_is_cut_off_is_told_from_one_that_ends(agent: ChannelAgent) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await reader.readexactly(1)
        writer.transport.abort()

    async with service(serve) as port:
        connection = await agent.dial(port)
        await connection.write(b"x")
        with pytest.raises(Interrupted, match=f"machine web: the service on port {port} cut the connection off"):
            await read_all(connection)


async def test_refusals_name_the_port(agent: ChannelAgent) -> None:
    port = free_port()
    with pytest.raises(
        WrongState, match=f"machine web: nothing answers on port {port} of the machine: connection ref"
    ):
        await within(agent.dial(port))
    for number in (0, -1, 65536):
        with pytest.raises(InvalidArgument, match="ports go from 1 to 65535"):
            await agent.dial(number)


async def test_a_service_that_does_not_read_holds_its_sender_and_nobody_else(agent: ChannelAgent) -> None:
    go = asyncio.Event()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        while await reader.read(1 << 16):
            pass

    async with service(deaf) as port, service(echo) as other:
        stuck = await agent.dial(port)
        writing = asyncio.create_task(stuck.write(bytes(64 << 20)))
        for _ in range(20):
            connection = await within(agent.dial(other))
            await connection.write(b"ping")
            assert await within(connection.read()) == b"ping"
            connection.close()
        assert not writing.done()
        go.set()
        await within(writing)
        stuck.close()


async def test_a_reader_that_does_not_read_holds_the_service(agent: ChannelAgent) -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        for _ in range(512):
            writer.write(bytes(64 << 10))
            await writer.drain()
            sent += 64 << 10

    async with service(flood) as port, service(echo) as other:
        connection = await agent.dial(port)
        for _ in range(20):
            pinged = await within(agent.dial(other))
            await pinged.write(b"ping")
            assert await within(pinged.read()) == b"ping"
            pinged.close()
        assert sent < 16 << 20
        assert len(await read_all(connection)) == 32 << 20


async def test_closing_closes_in_the_guest(agent: ChannelAgent) -> None:
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()

    async with service(serve) as port:
        connection = await agent.dial(port)
        connection.close()
        connection.close()
        await within(ended.wait())


async def test_the_channel_takes_connections_with_it(rig: Rig, agent: ChannelAgent) -> None:
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()

    async with service(serve) as port:
        connection = await agent.dial(port)
        await agent.close("the machine was restored")
        with pytest.raises(Interrupted, match="the machine was restored"):
            await connection.read()
        again = await rig.connect()  # the agent learns of it with the next epoch
        await within(ended.wait())
        await again.close("the test is over")


async def test_five_hundred_connections_at_once(agent: ChannelAgent) -> None:
    async with service(echo) as port:

        async def talk(number: int) -> None:
            connection = await agent.dial(port)
            await connection.write(b"%d" % number)
            connection.write_eof()
            assert await read_all(connection) == b"%d" % number

        await within(asyncio.gather(*(talk(number) for number in range(500))), 60)


async def test_too_many_are_refused(agent: ChannelAgent) -> None:
    async with service(echo) as port:
        dials = [asyncio.ensure_future(agent.dial(port)) for _ in range(1100)]
        done = await within(asyncio.gather(*dials, return_exceptions=True), 60)
        refused = [one for one in done if isinstance(one, Exhausted)]
        assert len(refused) == 1100 - 1024
        for one in done:
            if isinstance(one, GuestConnection):
                one.close()


async def test_listening_ports_are_found(agent: ChannelAgent) -> None:
    async with service(echo) as one, service(echo, "::1") as two:
        found = await agent.listeners()
        assert {one, two} <= set(found)
        assert list(found) == sorted(found)
    await until(lambda: True)
    assert one not in await agent.listeners()
