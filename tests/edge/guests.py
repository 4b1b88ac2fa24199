"""Guests that are small servers on loopback, and gates before them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from openboxd.edge.gate import Gate
from openboxd.edge.limits import Limits
from openboxd.edge.listener import listen_tcp
from openboxd.edge.streams import SocketStream, Stream

LIMIT = 30.0
"""Seconds in which anything here must happen."""

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def dial_tcp(port: int) -> Stream:
    """Connect to a port of this host. Raises OSError."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        async with asyncio.timeout(LIMIT):
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        return SocketStream(connection)
    except BaseException:
        connection.close()
        raise


class Guest:
    """A TCP server that can be swapped for another one, as a restore swaps a run: old connections are cut."""

    def __init__(self) -> None:
        self.port = 0
        self.accepted = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._handlers: set[asyncio.Task[None]] = set()

    async def start(self, handler: Handler) -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.accepted += 1
            task = asyncio.current_task()
            assert task is not None
            self._writers.add(writer)
            self._handlers.add(task)
            try:
                await handler(reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                writer.close()
                with suppress(OSError, asyncio.CancelledError):
                    await writer.wait_closed()  # until then `kill` has to abort it
                self._writers.discard(writer)
                self._handlers.discard(task)

        self._server = await asyncio.start_server(handle, "127.0.0.1", self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        handlers = list(self._handlers)
        for task in handlers:
            task.cancel()
        if handlers:
            await asyncio.wait(handlers)
        await asyncio.sleep(0)  # the loop tells transports of their end one turn after they were aborted
        self._server = None

    async def dial(self) -> Stream:
        return await dial_tcp(self.port)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


def saying(text: bytes) -> Handler:
    """A server that speaks first, as SSH does, and then waits for the end."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        await writer.drain()
        await reader.read()

    return handle


@asynccontextmanager
async def guarded(
    handler: Handler = echo, *, http: bool = False, limits: Limits | None = None
) -> AsyncIterator[tuple[Guest, Gate]]:
    guest = Guest()
    await guest.start(handler)
    gate = Gate(listen_tcp("127.0.0.1", 0), guest.dial, "port 8000 of machine 'web'", http=http, limits=limits)
    try:
        yield guest, gate
    finally:
        await gate.close()
        await guest.kill()


class Client:
    """A client of a gate."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, data: bytes) -> bytes:
        """Send, and read as many bytes."""
        self.writer.write(data)
        return await asyncio.wait_for(self.reader.readexactly(len(data)), LIMIT)

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self.reader.read(), LIMIT)

    def close(self) -> None:
        self.writer.transport.abort()


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until it is so. Raises TimeoutError naming what did not come."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + LIMIT
    while not condition():
        if loop.time() > deadline:
            raise TimeoutError(what)
        await asyncio.sleep(0.005)


def shrink(connection: socket.socket) -> None:
    """Make the kernel hold little for this socket."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
