"""A real Caddy on loopback, before gates and guests of ours, and a client that verifies it."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from openboxd.edge.ask import answering
from openboxd.edge.caddy import Caddy, certificate_wanted, running
from openboxd.edge.caddy_config import Front
from openboxd.edge.gate import Gate
from openboxd.edge.listener import listen_unix
from openboxd.host.ca import open_authority
from tests.edge.guests import LIMIT, Guest
from tests.lab import free_port

ZONE = "boxd.localhost"


@asynccontextmanager
async def made_front(home: Path, domains: Mapping[str, str] | None = None, zone: str = ZONE) -> AsyncIterator[Front]:
    authority = open_authority(home / "tls")
    gates = home / "gates"
    gates.mkdir(mode=0o700, exist_ok=True)
    front = Front(
        zone=zone,
        https=f"127.0.0.1:{free_port()}",
        http=f"127.0.0.1:{free_port()}",
        gates=gates,
        storage=home / "caddy",
        root=authority.root,
        root_key=home / "tls" / "ca.key",
        ask="",
        domains=domains or {},
    )
    async with answering(certificate_wanted(front)) as url:
        yield replace(front, ask=url)


@dataclass
class Site:
    """A front that serves, and what is behind it."""

    front: Front
    caddy: Caddy

    def gate(self, name: str, guest: Guest) -> Gate:
        return Gate(listen_unix(self.front.gates / name), guest.dial, f"port 8000 of machine '{name}'", http=True)

    async def connect(self, host: str, alpn: str = "http/1.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = ssl.create_default_context(cafile=str(self.front.root))
        context.set_alpn_protocols([alpn])
        return await asyncio.wait_for(
            asyncio.open_connection("127.0.0.1", self.front.https_port, ssl=context, server_hostname=host), LIMIT
        )

    async def ask(self, host: str, request: bytes = b"GET / HTTP/1.1") -> bytes:
        """The whole answer to a request on a connection of its own."""
        reader, writer = await self.connect(host)
        head, _, body = request.partition(b"\r\n\r\n")
        writer.write(head + f"\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode() + body)
        answer = await asyncio.wait_for(reader.read(), LIMIT)
        writer.close()
        return answer


@asynccontextmanager
async def serving(home: Path, domains: Mapping[str, str] | None = None) -> AsyncIterator[Site]:
    async with made_front(home, domains) as front, running(Caddy(front, home)) as caddy:
        await asyncio.wait_for(caddy.ready.wait(), LIMIT)
        yield Site(front, caddy)


async def app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with the request it got; says "101" to an upgrade and then returns what comes."""
    head = await reader.readuntil(b"\r\n\r\n")
    if b"upgrade: websocket" in head.lower():
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        writer.write(b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        while data := await reader.read(1000):
            writer.write(data)
        return
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    body = await reader.readexactly(length)
    if b" /slow " in head:
        await asyncio.sleep(0.1)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head + body) + head + body)
    await writer.drain()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
