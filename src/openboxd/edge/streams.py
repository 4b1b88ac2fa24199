"""Two-way byte streams, and two of them made one.

A splice holds one piece of at most `PIECE` bytes in each direction and nothing else: a slow reader makes its writer
wait, and a thousand connections cost what a thousand pieces cost.
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

PIECE = 64 * 1024
"""Bytes read at once, and so held at most, in each direction of a splice."""

_RESET = struct.pack("ii", 1, 0)  # linger for no time: closing says "reset"


class Stream(Protocol):
    """One end of a connection. Both directions end apart, as TCP's do."""

    async def read(self, limit: int) -> bytes:
        """Some bytes, about `limit` at most; empty at the end. Raises OSError if the connection broke."""
        ...

    async def write(self, data: bytes) -> None:
        """Pass all of it on; waits for the other end to take it. Raises OSError if the connection broke."""
        ...

    async def write_end(self) -> None:
        """Say that no more will come; reading goes on. Raises OSError if the connection broke."""
        ...

    def close(self, *, reset: bool = False) -> None:
        """Let go of it now; with `reset` the other end sees an error rather than an end. Harmless twice.

        Only while nobody reads or writes."""
        ...


class SocketStream:
    """A stream over a connected, non-blocking socket. `heard` is told whenever something has come."""

    def __init__(self, connection: socket.socket, heard: Callable[[], None] = lambda: None) -> None:
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # or a vanished peer stays for ever
        self._socket, self._heard = connection, heard
        self._loop = asyncio.get_running_loop()

    @property
    def gone(self) -> bool:
        """The other end has left altogether. One that closed a TCP connection looks like one that ended its half."""
        poll = select.poll()
        poll.register(self._socket, 0)  # errors and hang-ups are always reported
        return bool(poll.poll(0))

    async def read(self, limit: int) -> bytes:
        """See Stream."""
        data = await self._loop.sock_recv(self._socket, limit)
        self._heard()
        return data

    async def write(self, data: bytes) -> None:
        """See Stream."""
        await self._loop.sock_sendall(self._socket, data)

    async def write_end(self) -> None:
        """See Stream."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self, *, reset: bool = False) -> None:
        """See Stream."""
        if reset and self._socket.family != socket.AF_UNIX:
            with suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()


async def splice(one: Stream, two: Stream) -> bool:
    """Pass everything on in both directions until both have ended; False if the connection broke.

    An end of data goes on in its own direction only. Closing both is the caller's; when this returns, raises or is
    cancelled nobody reads or writes them any more.
    """
    pumps = [asyncio.create_task(_pump(one, two)), asyncio.create_task(_pump(two, one))]
    try:
        await asyncio.gather(*pumps)
    except OSError:
        return False
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
    return True


async def _pump(source: Stream, target: Stream) -> None:
    while piece := await source.read(PIECE):
        await target.write(piece)
    await target.write_end()
