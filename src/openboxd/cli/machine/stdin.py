"""Forwarding stdin without ever waiting for it: the command's end is the end, whoever still holds our stdin open.

The descriptor stays blocking, because it is shared with whoever started us; it is read only when it has something.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from openboxd.host.descriptors import readable

SLICE = 64 * 1024


async def forward(fd: int, write: Callable[[bytes], Awaitable[None]], end: Callable[[], Awaitable[None]]) -> None:
    """Pass on what comes from `fd` until its end. A closed or unreadable one is at its end."""
    while data := await _read(fd):
        await write(data)
    await end()


async def _read(fd: int) -> bytes:
    try:
        await readable(fd)
    except PermissionError:
        # Regular files and /dev/null cannot be waited for: they never make a reader wait.
        return await asyncio.to_thread(_read_now, fd)
    except (OSError, ValueError):
        return b""
    while True:
        try:
            return os.read(fd, SLICE)
        except BlockingIOError:
            await readable(fd)  # somebody else who has the descriptor was faster
        except OSError:
            return b""


def _read_now(fd: int) -> bytes:
    try:
        return os.read(fd, SLICE)
    except OSError:
        return b""
