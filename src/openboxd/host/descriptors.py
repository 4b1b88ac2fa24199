"""Waiting for descriptors."""

from __future__ import annotations

import asyncio


async def readable(fd: int) -> None:
    """Until there is something to read, or the end. A regular file cannot be waited for: PermissionError."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
