"""Clients that come in at a steady pace, each on a connection of its own, and how long each had to wait."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.figures import quantile
from bench.result import Row

LIMIT = 90.0
"""Seconds after which one that waits counts as failed; gates turn people away after 60."""

AT_ONCE = 150
"""Clients at one time."""

Visit = Callable[[], Awaitable[None]]
"""One client, from connecting to the answer. Raises OSError, ValueError or EOFError if it fails."""


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
            answer = await reader.read()
        finally:
            writer.transport.abort()
        if b" 200 " not in answer.partition(b"\r\n")[0]:
            raise ValueError(answer[:200].decode(errors="replace"))

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
async def coming(visit: Visit, every: float) -> AsyncIterator[list[Seen]]:
    """One client every `every` seconds while the block runs; all have ended when it is over.

    None comes while `AT_ONCE` are there: a host that cannot keep up would be measured by its queue alone.
    """
    seen: list[Seen] = []
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        began = time.monotonic()
        failure = ""
        try:
            async with asyncio.timeout(LIMIT):
                await visit()
        except (OSError, ValueError, EOFError) as error:  # TimeoutError is an OSError
            failure = repr(error)
        seen.append(Seen(began, time.monotonic() - began, failure))
        places.release()

    async def come() -> None:
        async with asyncio.TaskGroup() as visits:
            while not over.is_set():
                await places.acquire()
                visits.create_task(one())
                await asyncio.sleep(every)

    over = asyncio.Event()
    comer = asyncio.create_task(come())
    try:
        yield seen
    finally:
        over.set()
        await comer


def row(who: str, when: str, seen: Sequence[Seen]) -> Row:
    """The distribution of what clients had to wait; those that failed are counted apart."""
    waits = [1000 * each.seconds for each in seen if not each.failure] or [0.0]
    return {
        "clients": who,
        "when": when,
        "n": len(seen),
        "failed": sum(bool(each.failure) for each in seen),
        "p50 ms": quantile(waits, 0.5),
        "p90 ms": quantile(waits, 0.9),
        "p99 ms": quantile(waits, 0.99),
        "max ms": max(waits),
    }
