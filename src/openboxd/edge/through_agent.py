"""Streams to a guest's ports through its agent: they need no network between host and guest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from openboxd.edge.datagrams import Datagrams
from openboxd.edge.streams import Stream
from openboxd.errors import BoxdError, Interrupted, Unavailable

T = TypeVar("T")

DIAL_LIMIT = 10.0
"""Seconds for a guest to accept; also for an agent that gets into step, as after a restart of the daemon."""


class Connection(Protocol):
    """See ports.GuestConnection."""

    async def read(self) -> bytes: ...
    async def write(self, data: bytes) -> None: ...
    def write_eof(self) -> None: ...
    def close(self) -> None: ...


class Guest(Protocol):
    """What of a ports.Agent a gate needs."""

    @property
    def ready(self) -> bool: ...
    async def wait_ready(self, timeout: float) -> None: ...
    async def dial(self, port: int) -> Connection: ...
    async def datagrams(self, port: int) -> Datagrams: ...
    async def listeners(self) -> Sequence[int]: ...


class AgentStream:
    """A stream over a connection that the agent has made."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read(self, limit: int) -> bytes:
        """See Stream; the agent's window is the limit."""
        try:
            return await self._connection.read()
        except BoxdError as error:
            raise ConnectionResetError(error.message) from error

    async def write(self, data: bytes) -> None:
        """See Stream."""
        try:
            await self._connection.write(data)
        except BoxdError as error:
            raise ConnectionResetError(error.message) from error

    async def write_end(self) -> None:
        """See Stream."""
        self._connection.write_eof()

    def close(self, *, reset: bool = False) -> None:
        """See Stream; to the service in the guest it is a close in any case."""
        self._connection.close()


async def dial_agent(guest: Guest, port: int) -> Stream:
    """Connect to a port of the guest.

    Raises:
        OSError: nothing answers there; TimeoutError, which is one, if the agent or a service does not answer yet.
    """

    async def dial() -> Stream:
        return AgentStream(await guest.dial(port))

    return await _asked(guest, dial)


async def listening(guest: Guest) -> frozenset[int]:
    """Ports that somebody listens on in the guest. Raises OSError as `dial_agent` does."""
    return frozenset(await _asked(guest, guest.listeners))


async def _asked(guest: Guest, question: Callable[[], Awaitable[T]]) -> T:
    """The agent's answer, also where it has to get into step first. While it is not there, or where another epoch has
    cut the question off, nobody has said no: that is a TimeoutError, after which it may be asked again."""
    try:
        async with asyncio.timeout(DIAL_LIMIT):
            if not guest.ready:
                await guest.wait_ready(DIAL_LIMIT)
            return await question()
    except (Interrupted, Unavailable) as error:
        raise TimeoutError(error.message) from error
    except BoxdError as error:
        raise ConnectionRefusedError(error.message) from error
