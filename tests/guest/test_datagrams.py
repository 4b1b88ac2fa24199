"""Datagrams to services of the guest."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest

from openboxd.errors import Interrupted, InvalidArgument
from openboxd.guest.agent.datagrams import LARGEST
from openboxd.guest.connector import ChannelAgent
from openboxd.guest.dial import GuestDatagrams
from tests.guest.rig import within
from tests.lab import free_port


class Echo(asyncio.DatagramProtocol):
    """Answers with what came, and remembers from whom."""

    def __init__(self) -> None:
        self.clients: set[tuple[str, int]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.clients.add(addr)
        self.transport.sendto(data, addr)


@asynccontextmanager
async def echo() -> AsyncIterator[tuple[int, Echo]]:
    """A UDP service on this host, which is where the rig's agent runs; its port."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
    try:
        yield int(transport.get_extra_info("sockname")[1]), protocol
    finally:
        transport.close()


@pytest.mark.parametrize("size", [1, 1472, 40_000, LARGEST])
async def test_every_datagram_keeps_its_ends(agent: ChannelAgent, size: int) -> None:
    async with echo() as (port, _):
        client = await agent.datagrams(port)
        for _ in range(20):  # more than any window
            content = os.urandom(size)
            await client.send(content)
            assert await within(client.receive()) == content
        client.close()


async def test_clients_are_told_apart(agent: ChannelAgent) -> None:
    async with echo() as (port, service):
        clients = [await agent.datagrams(port) for _ in range(10)]
        for number, client in enumerate(clients):
            await client.send(b"%d" % number)
        for number, client in enumerate(clients):
            assert await within(client.receive()) == b"%d" % number
            client.close()
        assert len(service.clients) == 10


async def test_a_service_that_comes_later_is_reached(agent: ChannelAgent) -> None:
    port = free_port()
    client = await agent.datagrams(port)
    for _ in range(3):
        await client.send(b"early")  # nobody listens: the agent's socket gets an error, and goes on
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", port))
    try:
        await within(_until_answered(client, b"here"))
    finally:
        transport.close()
        client.close()


async def _until_answered(client: GuestDatagrams, content: bytes) -> None:
    """Send until the answer to it comes; those sent before the service listened may have none."""
    while True:
        await client.send(content)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                while await client.receive() != content:
                    pass
                return


async def test_one_who_does_not_read_disturbs_nobody(agent: ChannelAgent) -> None:
    async with echo() as (port, _):
        deaf, other = await agent.datagrams(port), await agent.datagrams(port)
        for _ in range(100):
            await within(deaf.send(bytes(LARGEST)))  # its answers are dropped when there is no room for them
        await other.send(b"ping")
        assert await within(other.receive()) == b"ping"
        deaf.close()
        other.close()


async def test_the_channel_takes_datagrams_with_it(agent: ChannelAgent) -> None:
    async with echo() as (port, _):
        client = await agent.datagrams(port)
        await agent.close("the machine was restored")
        with pytest.raises(Interrupted, match="the machine was restored"):
            await client.receive()


async def test_there_must_be_such_a_port(agent: ChannelAgent) -> None:
    for number in (0, -1, 65536):
        with pytest.raises(InvalidArgument, match="ports go from 1 to 65535"):
            await agent.datagrams(number)
