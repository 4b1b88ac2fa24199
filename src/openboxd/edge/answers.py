"""What a gate says to those it cannot let through: an HTTP answer before the HTTPS front, else just the end."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from openboxd.edge.streams import PIECE, Stream

_READ_LIMIT = 1024 * 1024
_TIME_LIMIT = 2.0


def http_answer(status: HTTPStatus, sentence: str, retry_after: int = 0) -> bytes:
    """A whole HTTP/1.1 answer with one sentence in it; `retry_after` in seconds, 0 = not said."""
    body = f"{sentence}\n".encode()
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    ]
    if retry_after:
        lines.append(f"Retry-After: {retry_after}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def answer(client: Stream, data: bytes) -> None:
    """Send an answer to a request that was not read, and close.

    What the client still sends is read and dropped for a while: a socket closed with bytes unread would be reset,
    and the answer with it.
    """
    try:
        async with asyncio.timeout(_TIME_LIMIT):
            await client.write(data)
            await client.write_end()
            dropped = 0
            while dropped < _READ_LIMIT and (piece := await client.read(PIECE)):
                dropped += len(piece)
    except OSError:
        pass  # the client has left, or takes too long (TimeoutError is an OSError): it gets no answer
    finally:
        client.close()
