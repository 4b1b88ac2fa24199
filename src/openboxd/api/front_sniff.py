"""What a fresh connection is going to speak, told by its first three bytes without taking them off the socket."""

from __future__ import annotations

import asyncio
import socket
from enum import Enum

ENOUGH = 3
LIMIT = 10.0
"""Seconds that a client may take for three bytes."""


class Speech(Enum):
    """What the first bytes mean."""

    TLS = "TLS"
    HTTP2 = "HTTP/2"
    HTTP1 = "HTTP/1.1"
    NOTHING = "nothing"  # it left before it had said anything


async def first_words(connection: socket.socket) -> Speech:
    """Wait for the first bytes; whoever reads the socket next still gets them all.

    Raises:
        TimeoutError: they did not come within `LIMIT`.
    """
    # The kernel wakes us for three bytes or the end, so a client that dribbles costs no turns of the loop.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, ENOUGH)
    async with asyncio.timeout(LIMIT):
        await _readable(connection)
    head = connection.recv(ENOUGH, socket.MSG_PEEK)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    if len(head) < ENOUGH:
        return Speech.NOTHING
    if head[0] == 0x16:  # the record type of a TLS handshake
        return Speech.TLS
    return Speech.HTTP2 if head == b"PRI" else Speech.HTTP1


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(connection)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
