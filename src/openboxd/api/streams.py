"""Reading an asynchronous source so that it is closed the moment its reader leaves, not when memory is collected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")

SWALLOW_STEP = 0.25
SWALLOW_LIMIT = 2.0
"""Seconds of silence, and altogether, until nothing more is waited for: see `swallow`."""


@asynccontextmanager
async def reading(source: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Lend `source` and close it afterwards, if it is of a kind that can be closed."""
    try:
        yield source
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


async def swallow(requests: AsyncIterator[Any]) -> None:
    """Read for a moment what a refused caller still sends.

    Ending the call at once would fail the write that is under way, and some gRPC clients (grpc.aio) then report that
    failure in place of our refusal.
    """
    source = aiter(requests)
    with suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(SWALLOW_LIMIT):
            while True:
                await asyncio.wait_for(anext(source), SWALLOW_STEP)
