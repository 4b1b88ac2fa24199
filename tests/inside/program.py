"""A program in a machine, such as the published SDK: it asks the metadata, and speaks gRPC at the same port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc

from tests.inside.conftest import LIMIT, Doors


async def ask(
    doors: Doors, method: str, path: str, body: Any = None, name: str = "web", run_id: str = ""
) -> tuple[int, Any]:
    """One request over HTTP/1.1; status and JSON."""
    visitor, task = doors.knock("api", name, run_id)
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(content)}\r\n\r\n"
    visitor.say(head.encode() + content)
    async with asyncio.timeout(LIMIT):
        await visitor.closed.wait()
        await task
    answer, _, text = bytes(visitor.heard).partition(b"\r\n\r\n")
    return int(answer.split()[1]), json.loads(text)


@asynccontextmanager
async def connected(
    doors: Doors, name: str = "web", run_id: str = "", options: Sequence[tuple[str, Any]] = ()
) -> AsyncIterator[grpc.aio.Channel]:
    """gRPC as a program in the machine speaks it, through a port of this host that stands for the agent's.

    It ends with the block, and so do its connections: gRPC may keep one for a while after its channel was closed.
    """
    connections: list[asyncio.StreamWriter] = []

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        visitor, task = doors.knock("api", name, run_id)

        async def hear() -> None:
            sent = 0
            while not visitor.closed.is_set() or sent < len(visitor.heard):
                await visitor.more(sent)
                writer.write(bytes(visitor.heard[sent:]))
                sent = len(visitor.heard)
            writer.close()

        hearing = asyncio.create_task(hear())
        try:
            while data := await reader.read(65536):
                visitor.say(data)
        except ConnectionError:
            pass  # a client that ends with something unread resets its connection
        finally:
            visitor.leave()
        await asyncio.wait([task, hearing])
        writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            yield channel
    finally:
        server.close()
        for writer in connections:
            writer.close()


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """What a call carries as its credential."""
    return (("authorization", f"Bearer {token}"),)
