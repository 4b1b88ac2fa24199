"""Reading an asynchronous source so that it is closed the moment its reader leaves, not when memory is collected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def reading(source: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Lend `source` and close it afterwards, if it is of a kind that can be closed."""
    try:
        yield source
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()
