"""Answers Caddy's question whether a certificate may be made for a name.

Caddy asks over TCP only, so this listens on loopback; the path is a secret, or every user of the host could find out
which machines there are. Both outlive the daemon, as Caddy and its configuration do.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from openboxd.edge.kept import Kept
from openboxd.edge.listener import listen_tcp

_KEPT = "ask:"
_LIMIT = 5.0
_LINE = 4096


@asynccontextmanager
async def answering(allowed: Callable[[str], bool], kept: Kept | None = None) -> AsyncIterator[str]:
    """Answer while the block runs; the value is the URL to ask."""
    secret, listener = _listener(kept)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError):  # TimeoutError is an OSError
            async with asyncio.timeout(_LIMIT):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(request, secret, allowed))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, sock=listener, limit=_LINE)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{secret}"
    finally:
        server.close()


def _listener(kept: Kept | None) -> tuple[str, socket.socket]:
    """The secret and the listening socket of the daemon before us, or new ones."""
    for name in kept.names() if kept is not None else ():
        if name.startswith(_KEPT) and kept is not None and (found := kept.take(name)) is not None:
            return name.removeprefix(_KEPT), socket.socket(fileno=found)
    secret, listener = secrets.token_urlsafe(18), listen_tcp("127.0.0.1", 0)
    if kept is not None:
        kept.keep(f"{_KEPT}{secret}", listener.fileno())
    return secret, listener


def _answer(request: bytes, secret: str, allowed: Callable[[str], bool]) -> bytes:
    words = request.split(b"\r\n", 1)[0].decode("ascii", errors="replace").split(" ")
    url = urlsplit(words[1] if len(words) == 3 else "")
    names = parse_qs(url.query).get("domain", [])
    good = secrets.compare_digest(url.path.encode(), f"/{secret}".encode()) and len(names) == 1 and allowed(names[0])
    return (
        f"HTTP/1.1 {'200 OK' if good else '403 Forbidden'}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )
