"""An agent of a fake guest: its ports are servers on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from openboxd.errors import Interrupted, Unavailable, WrongState
from tests.edge.guests import Guest, Handler


class FakeConnection:
    """See ports.GuestConnection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        try:
            return await self._reader.read(65536)
        except OSError:
            raise Interrupted("the service cut the connection off") from None

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def write_eof(self) -> None:
        self._writer.write_eof()

    def close(self) -> None:
        self._writer.transport.abort()


class FakeDatagrams:
    """See ports.GuestDatagrams: a service that answers with its port and what it was told."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def receive(self) -> bytes | None:
        return await self._answers.get()

    async def send(self, datagram: bytes) -> None:
        await self._answers.put(b"%d: %s" % (self._port, datagram))

    def close(self) -> None: ...


class FakeAgent:
    """What gates need of an agent, for a guest that listens on `ports`."""

    def __init__(self) -> None:
        self.ready = True
        self.servers: dict[int, Guest] = {}
        self.looks = 0

    async def serve(self, port: int, handler: Handler) -> None:
        self.servers[port] = Guest()
        await self.servers[port].start(handler)

    async def stop(self, port: int) -> None:
        await self.servers.pop(port).kill()

    async def end(self) -> None:
        for port in list(self.servers):
            await self.stop(port)

    async def wait_ready(self, timeout: float) -> None:
        if not self.ready:
            raise Unavailable("the agent does not answer")

    async def dial(self, port: int) -> FakeConnection:
        if port not in self.servers:
            raise WrongState(f"nothing answers on port {port} of the machine")
        return FakeConnection(*await asyncio.open_connection("127.0.0.1", self.servers[port].port))

    async def datagrams(self, port: int) -> FakeDatagrams:
        return FakeDatagrams(port)

    async def listeners(self) -> Sequence[int]:
        self.looks += 1
        return sorted(self.servers)
