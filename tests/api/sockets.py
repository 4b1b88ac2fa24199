"""Conversations with the front at the level of sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json

from openboxd.api.exchange import PATH
from tests.fakes.service import KEY

LIMIT = 30


async def connect(address, **options):
    host, _, port = address.rpartition(":")
    return await asyncio.wait_for(asyncio.open_connection(host, int(port), **options), LIMIT)


async def converse(address, data, **options):
    """Send, end our direction where that is possible, and read to the end."""
    reader, writer = await connect(address, **options)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), LIMIT)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def post(body: bytes, path: str = PATH, method: str = "POST", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: anything", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def parse(reply: bytes):
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert headers["content-type"] == "application/json"
    return int(first.split()[1]), headers, json.loads(body)


GOOD = json.dumps({"api_key": KEY}).encode()


async def until(condition):
    """Wait for something that nobody announces."""
    for _ in range(LIMIT * 100):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError
