"""Connections to a service that speaks first, as an SSH server does: they count once it has spoken.

A connection that is taken is not yet one that is served: an sshd that is being started anew, that has too many at the
door, or whose machine is swapped away in that moment, drops it. Before its first word such a connection can be made
again without the client's knowing, and the gate does that.
"""

from __future__ import annotations

import asyncio

from openboxd.edge.streams import PIECE, Stream
from openboxd.edge.through_agent import Guest, dial_agent

GREETING_LIMIT = 60.0
"""Seconds for the first word: a guest in software to which a hundred come at once needs some for each."""

TOO_MANY = (b"Exceeded MaxStartups", b"Not allowed at this time")
"""What an sshd says in place of its greeting when it drops a connection."""


class Begun:
    """A stream whose first piece has been read already."""

    def __init__(self, stream: Stream, first: bytes) -> None:
        self._stream, self._first = stream, first

    async def read(self, limit: int) -> bytes:
        """See Stream."""
        if self._first:
            piece, self._first = self._first, b""
            return piece
        return await self._stream.read(limit)

    async def write(self, data: bytes) -> None:
        """See Stream."""
        await self._stream.write(data)

    async def write_end(self) -> None:
        """See Stream."""
        await self._stream.write_end()

    def close(self, *, reset: bool = False) -> None:
        """See Stream."""
        self._stream.close(reset=reset)


async def dial_speaking(guest: Guest, port: int) -> Stream:
    """Connect to a port of the guest, and wait until its service has spoken.

    Raises:
        OSError: nothing answers there, or it hung up, or it has said nothing within the limit.
    """
    stream = await dial_agent(guest, port)
    try:
        async with asyncio.timeout(GREETING_LIMIT):
            first = await stream.read(PIECE)
        if not first or first.startswith(TOO_MANY):
            raise ConnectionRefusedError("the service took the connection and dropped it")
    except BaseException:
        stream.close(reset=True)
        raise
    return Begun(stream, first)
