"""Answers Caddy's question whether a certificate may be made for a name.

Caddy asks over TCP only, so this listens on loopback; the path is a secret, or every user of the host could find out
which machines there are.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

_LIMIT = 5.0
_LINE = 4096


@asynccontextmanager
async def answering(allowed: Callable[[str], bool]) -> AsyncIterator[str]:
    """Answer while the block runs; the value is the URL to ask."""
    secret = secrets.token_urlsafe(18)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError):  # TimeoutError is an OSError
            async with asyncio.timeout(_LIMIT):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(request, secret, allowed))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=_LINE)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{secret}"
    finally:
        server.close()


def _answer(request: bytes, secret: str, allowed: Callable[[str], bool]) -> bytes:
    words = request.split(b"\r\n", 1)[0].decode("ascii", errors="replace").split(" ")
    url = urlsplit(words[1] if len(words) == 3 else "")
    names = parse_qs(url.query).get("domain", [])
    good = secrets.compare_digest(url.path.encode(), f"/{secret}".encode()) and len(names) == 1 and allowed(names[0])
    return (
        f"HTTP/1.1 {'200 OK' if good else '403 Forbidden'}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )
