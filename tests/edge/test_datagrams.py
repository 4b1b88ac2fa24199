"""The gate of a UDP port, over sockets of a fake guest."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from openboxd.edge import datagrams
from openboxd.edge.datagrams import DatagramGate
from openboxd.edge.listener import listen_udp
from openboxd.errors import Interrupted, Unavailable
from tests.guest.rig import until

LIMIT = 20.0


class FakeGuest:
    """Answers each client's datagrams with who it is, a number, and what came."""

    def __init__(self) -> None:
        self.sockets: list[FakeSocket] = []
        self.away = False
        self.tried = 0

    async def reach(self) -> FakeSocket:
        self.tried += 1
        if self.away:
            raise Unavailable("the agent does not answer")
        self.sockets.append(FakeSocket(len(self.sockets)))
        return self.sockets[-1]


class FakeSocket:
    """See ports.GuestDatagrams."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.closed = False
        self.answers: asyncio.Queue[bytes] = asyncio.Queue()
        self.stuck = asyncio.Event()
        self.stuck.set()

    async def receive(self) -> bytes | None:
        return await self.answers.get()

    async def send(self, datagram: bytes) -> None:
        await self.stuck.wait()
        if self.closed:
            raise Interrupted("the machine was restored")
        self.answers.put_nowait(b"%d:%s" % (self.number, datagram))

    def close(self) -> None:
        self.closed = True


class Client:
    """Somebody with a UDP socket."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.connect(("127.0.0.1", port))

    def say(self, text: bytes) -> None:
        self.socket.send(text)

    async def hear(self, limit: float = LIMIT) -> bytes:
        async with asyncio.timeout(limit):
            return await asyncio.get_running_loop().sock_recv(self.socket, 65536)


@asynccontextmanager
async def gate(guest: FakeGuest, idle: float = 60.0) -> AsyncIterator[tuple[DatagramGate, int]]:
    listener = listen_udp("127.0.0.1", 0)
    port = listener.getsockname()[1]
    made = DatagramGate(listener, guest.reach, "port 53 of machine 'web'", idle)
    try:
        yield made, port
    finally:
        await made.close()
        await made.close()


@pytest.fixture
def guest() -> FakeGuest:
    return FakeGuest()


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    made: list[Client] = []
    yield made
    for client in made:
        client.socket.close()


def client(clients: list[Client], port: int) -> Client:
    clients.append(Client(port))
    return clients[-1]


async def test_every_client_gets_its_own_answers(guest: FakeGuest, clients: list[Client]) -> None:
    async with gate(guest) as (made, port):
        for number in range(20):
            client(clients, port).say(b"hello")
            assert await clients[number].hear() == b"%d:hello" % number
        clients[7].say(b"again")
        assert await clients[7].hear() == b"7:again"
        assert made.established == 20


async def test_what_comes_while_it_is_held_is_dropped_and_flows_begin_anew(
    guest: FakeGuest, clients: list[Client]
) -> None:
    async with gate(guest) as (made, port):
        one = client(clients, port)
        one.say(b"before")
        assert await one.hear() == b"0:before"
        made.begin_hold()
        await made.drain(0.15)
        assert (made.established, guest.sockets[0].closed) == (0, True)
        one.say(b"meanwhile")
        with pytest.raises(TimeoutError):
            await one.hear(0.2)
        assert made.release().connections == 0
        one.say(b"after")
        assert await one.hear() == b"1:after"
        await made.shut("machine 'web' is stopped")
        one.say(b"too late")
        with pytest.raises(TimeoutError):
            await one.hear(0.2)


async def test_a_silent_flow_ends(guest: FakeGuest, clients: list[Client]) -> None:
    async with gate(guest, idle=0.2) as (made, port):
        one = client(clients, port)
        one.say(b"x")
        assert await one.hear() == b"0:x"
        await until(lambda: made.established == 0)
        assert guest.sockets[0].closed


async def test_many_clients_take_each_others_places(
    guest: FakeGuest, clients: list[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datagrams, "MAX_FLOWS", 3)
    async with gate(guest) as (made, port):
        for number in range(5):
            client(clients, port).say(b"x")
            assert await clients[number].hear() == b"%d:x" % number
        assert made.established == 3
        await until(lambda: [one.closed for one in guest.sockets] == [True, True, False, False, False])


async def test_a_guest_that_takes_nothing_costs_no_more_than_its_share(
    guest: FakeGuest, clients: list[Client]
) -> None:
    async with gate(guest) as (made, port):
        one = client(clients, port)
        one.say(b"x")
        assert await one.hear() == b"0:x"
        guest.sockets[0].stuck.clear()
        flow = next(iter(made._flows.values()))[0]
        for _ in range(200):
            one.say(bytes(8000))
            await asyncio.sleep(0)
        await until(lambda: flow._queued > datagrams.MAX_QUEUED - 8001)
        assert flow._queued <= datagrams.MAX_QUEUED
        guest.sockets[0].stuck.set()
        assert len(await one.hear()) > 8000


async def test_a_guest_that_is_away_or_lost_is_reached_when_it_is_back(
    guest: FakeGuest, clients: list[Client]
) -> None:
    async with gate(guest) as (made, port):
        one = client(clients, port)
        guest.away = True
        one.say(b"lost")
        await until(lambda: guest.tried == 1 and made.established == 0)
        guest.away = False
        one.say(b"here")
        assert await one.hear() == b"0:here"
        guest.sockets[0].closed = True
        one.say(b"lost too")
        await until(lambda: made.established == 0)
        one.say(b"back")
        assert await one.hear() == b"1:back"


async def test_two_cannot_listen_on_one_port() -> None:
    with listen_udp("127.0.0.1", 0) as listener, pytest.raises(OSError, match="in use"):
        listen_udp("127.0.0.1", listener.getsockname()[1])
