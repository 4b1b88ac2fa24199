"""TLS on an accepted socket: the handshake first, then whoever is to speak over it gets the transport."""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio import sslproto

HANDSHAKE_LIMIT = 10
SHUTDOWN_LIMIT = 5
"""Seconds a peer gets to answer our farewell."""

HTTP2, HTTP1 = "h2", "http/1.1"


class SmallTls(sslproto.SSLProtocol):
    """asyncio's TLS with a smaller buffer: its own takes 256 KiB for every connection, however idle."""

    max_size = 32 * 1024


class Waiting(asyncio.Protocol):
    """Holds a transport, unread, until its protocol is chosen."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.pause_reading()


async def shake_hands(connection: socket.socket, context: ssl.SSLContext) -> tuple[asyncio.Transport, str]:
    """Take the socket over; the transport, not yet read from, and the protocol that was agreed on.

    Raises:
        OSError: no handshake came about; the socket is closed.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    waiting = Waiting()

    def make() -> asyncio.BaseProtocol:
        return SmallTls(
            loop,
            waiting,
            context,
            done,
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_LIMIT,
            ssl_shutdown_timeout=SHUTDOWN_LIMIT,
        )

    carrier, _ = await loop.connect_accepted_socket(make, connection)
    try:
        await done
    except BaseException:
        carrier.abort()
        raise
    agreed = waiting.transport.get_extra_info("ssl_object").selected_alpn_protocol()
    return waiting.transport, agreed or HTTP1


def hand_over(transport: asyncio.Transport, protocol: asyncio.Protocol) -> None:
    """Let `protocol` speak from here on."""
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    transport.resume_reading()
