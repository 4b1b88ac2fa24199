"""Names for machines that may not go everywhere: only those on their list are answered, and the addresses behind them
may be reached from then on.

It listens on the gateway's side of the bridge, where a machine's address cannot be forged. A name that is not on the
list is refused without asking anybody, so that questions carry nothing out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import cast

from openboxd.errors import BoxdError
from openboxd.network.lookups import REFUSED, SERVER_FAILURE, Malformed, addresses, question, refusal

LIMIT = 5.0
"""Seconds for the host's resolver."""

AT_ONCE = 256
"""Questions under way; more are dropped, and asked again by whoever asked."""

TELL_EVERY = 60.0
"""Seconds between two lines of the log about questions without an answer: machines ask as often as they like."""

DNS = 53

log = logging.getLogger(__name__)

Allowed = Callable[[str, str], bool]
"""Whether the machine with an address may reach a name."""

Learn = Callable[[str, str, list[str]], Awaitable[None]]
"""Lets a machine reach the addresses behind a name. Raises BoxdError."""


class Resolver(asyncio.DatagramProtocol):
    """Answers machines, with the help of the resolver at `upstream`."""

    def __init__(self, upstream: str, allowed: Allowed, learn: Learn) -> None:
        self._upstream, self._allowed, self._learn = upstream, allowed, learn
        self._transport: asyncio.DatagramTransport | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._told_at, self._untold = -TELL_EVERY, 0

    @property
    def listens(self) -> bool:
        """Whether it can be asked."""
        return self._transport is not None

    async def listen(self, address: str, port: int) -> None:
        """Raises OSError."""
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, (address, port))

    async def close(self) -> None:
        """Harmless twice."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if len(self._tasks) < AT_ONCE:
            task = asyncio.create_task(self._answer(data, addr))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, query: bytes, client: tuple[str, int]) -> None:
        try:
            name = question(query)
        except Malformed:
            return
        if not self._allowed(client[0], name):
            self._send(refusal(query, REFUSED), client)
            return
        try:
            answer = await _ask(self._upstream, query)
            if found := addresses(answer):
                await self._learn(client[0], name, found)
        except (OSError, Malformed, BoxdError) as error:
            self._tell(name, str(error) or "nobody answers in time")
            answer = refusal(query, SERVER_FAILURE)
        self._send(answer, client)

    def _tell(self, name: str, why: str) -> None:
        if monotonic() - self._told_at < TELL_EVERY:
            self._untold += 1
            return
        more = f"; {self._untold} more had none since the last one that was told" if self._untold else ""
        log.warning("a machine's question for %r has no answer: %s%s", name, why, more)
        self._told_at, self._untold = monotonic(), 0

    def _send(self, answer: bytes, client: tuple[str, int]) -> None:
        if self._transport is not None:
            self._transport.sendto(answer, client)


class _Once(asyncio.DatagramProtocol):
    """Waits for the answer to one question."""

    def __init__(self, query: bytes) -> None:
        self._query = query
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if data[:2] == self._query[:2] and not self.answer.done():
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


async def _ask(resolver: str, query: bytes) -> bytes:
    """Raises OSError: it cannot be reached, or does not answer."""
    loop = asyncio.get_running_loop()
    transport, once = await loop.create_datagram_endpoint(lambda: _Once(query), remote_addr=(resolver, DNS))
    try:
        transport.sendto(query)
        async with asyncio.timeout(LIMIT):
            return await once.answer
    finally:
        transport.close()
