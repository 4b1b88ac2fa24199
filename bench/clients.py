"""Clients that come one after the other, each on a connection of its own, and how long each waited for an answer."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.figures import spread
from bench.result import Row

LIMIT = 90.0
"""Seconds after which one that waits counts as failed; gates turn people away after 60."""

Visit = Callable[[], Awaitable[None]]
"""One client, from connecting to the first line of the answer. Raises OSError, ValueError or EOFError if it fails."""


@dataclass(frozen=True)
class Seen:
    """One client: when it came (monotonic), how long it took, and what went wrong, if anything did."""

    began: float
    seconds: float
    failure: str = ""


def https(host: str, port: int, context: ssl.SSLContext) -> Visit:
    """A GET that must be answered by 200."""

    async def visit() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
        try:
            writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            status = await reader.readline()
        finally:
            writer.transport.abort()
        if b" 200 " not in status:
            raise ValueError(f"the answer was {status!r}")

    return visit


def ssh(port: int) -> Visit:
    """A connection on which the guest's sshd must say hello."""

    async def visit() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            hello = await reader.readline()
        finally:
            writer.transport.abort()
        if not hello.startswith(b"SSH-2.0-"):
            raise EOFError(f"the guest's sshd said {hello!r}")

    return visit


@asynccontextmanager
async def coming(visit: Visit, clients: int, pause: float) -> AsyncIterator[list[Seen]]:
    """`clients` at a time while the block runs, each followed by another one `pause` seconds after its answer. All
    have ended when it is over.

    A steady pace would be too much for a guest in software, and what is measured then is a queue.
    """
    seen, over = list[Seen](), asyncio.Event()

    async def one() -> Seen:
        began, failure = time.monotonic(), ""
        try:
            async with asyncio.timeout(LIMIT):
                await visit()
        except (OSError, ValueError, EOFError) as error:  # TimeoutError is an OSError
            failure = repr(error)
        return Seen(began, time.monotonic() - began, failure)

    async def come() -> None:
        while not over.is_set():
            seen.append(await one())
            await asyncio.sleep(pause)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(come())
        try:
            yield seen
        finally:
            over.set()


def row(who: str, when: str, seen: Sequence[Seen]) -> Row:
    """The distribution of what clients had to wait; those that failed are counted apart."""
    return {
        "clients": who,
        "when": when,
        "n": len(seen),
        "failed": sum(bool(each.failure) for each in seen),
        "waits": spread([1000 * each.seconds for each in seen if not each.failure]),
    }
