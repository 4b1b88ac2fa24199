"""The front: one port for gRPC and for HTTP/1.1, each in the clear or in TLS.

The first bytes of a connection say which. HTTP/2 is spliced to the gRPC server, which listens on a private UNIX
socket; HTTP/1.1 is answered here. Nothing of a connection outlives the front, and nothing it holds grows with what
a client sends.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from pathlib import Path

from openboxd.api.exchange import Exchange
from openboxd.api.exchange_http import Answer, Request, serve_connection
from openboxd.api.front_peer import named_socket
from openboxd.api.front_sniff import Speech, first_words
from openboxd.api.front_splice import joined
from openboxd.api.front_tls import HTTP2, hand_over, shake_hands
from openboxd.api.tls import Tls
from openboxd.errors import HostUnfit

CONNECTIONS = 1000
"""Connections at a time. One costs two descriptors here and two in the server, besides its memory."""

BACKLOG = 512
DIAL_LIMIT = 5.0
"""Seconds until the gRPC server, in this very process, must have room for a connection."""

OUT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
BREATH = 0.2
"""Seconds to wait when the host has no descriptors left: asking again at once would only burn time."""

SAID_EVERY = 60.0
"""Seconds between two log lines about connections that were turned away."""

# A client that vanished without a word is noticed after about two minutes.
KEEPALIVE = ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 20), (socket.TCP_KEEPCNT, 3))

log = logging.getLogger(__name__)


def listen(address: str) -> socket.socket:
    """A listening socket at host:port.

    Raises:
        HostUnfit: the address cannot be had.
    """
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(place[:2], family=family, backlog=BACKLOG)  # with SO_REUSEADDR
    except (OSError, ValueError):
        raise HostUnfit(
            f"cannot listen on {address}: it is in use or not an address of this host; "
            "stop the other daemon or choose another one with --listen"
        ) from None


class Front:
    """Serves the connections of one listening socket."""

    def __init__(
        self,
        listener: socket.socket,
        backend: Path,
        exchange: Exchange,
        tls: Tls | None,
        limit: int = CONNECTIONS,
    ) -> None:
        listener.setblocking(False)
        self._listener, self._backend, self._exchange, self._tls, self._limit = (
            listener,
            backend,
            exchange,
            tls,
            limit,
        )
        self._connections: set[asyncio.Task[None]] = set()
        self._said = -SAID_EVERY

    @property
    def connections(self) -> int:
        """Connections that are open now."""
        return len(self._connections)

    async def accept(self) -> None:
        """Take connections until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, place = await loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno in OUT_OF:
                    self._say("no connection can be accepted: %s", error.strerror)
                    await asyncio.sleep(BREATH)
                continue  # any other error is the connection's, which is gone again
            self._begin(connection, str(place[0]), int(place[1]))

    def _begin(self, connection: socket.socket, host: str, port: int) -> None:
        if len(self._connections) >= self._limit:
            self._say("%d connections are open, which is the limit; turning away %s", self._limit, host)
            connection.close()
            return
        task = asyncio.create_task(self._serve(connection, host, port), name=f"connection of {host}")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def _say(self, text: str, *values: object) -> None:
        if time.monotonic() - self._said >= SAID_EVERY:
            self._said = time.monotonic()
            log.warning(text, *values)

    async def close(self, limit: float) -> None:
        """Give connections `limit` seconds to end by themselves, then end them."""
        if self._connections:
            _, left = await asyncio.wait(self._connections, timeout=limit)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)

    async def _serve(self, connection: socket.socket, host: str, port: int) -> None:
        try:
            # asyncio sets it only on sockets that name their protocol, and accepted ones do not: without it every
            # second small answer waits 40 ms for the client's delayed acknowledgement.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in KEEPALIVE:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
            await self._converse(connection, host, f"{host}:{port}")
        except (OSError, TimeoutError) as error:
            log.debug("a connection of %s ended: %s", host, error)
        except Exception:
            log.exception("a connection of %s ended by a fault inside boxd", host)
        finally:
            connection.close()  # a transport that had it has been aborted or has lost it by now

    async def _converse(self, connection: socket.socket, host: str, address: str) -> None:
        speech = await first_words(connection)
        if speech is Speech.HTTP2:
            await self._splice(connection, address)
        elif speech is Speech.HTTP1:
            await self._http(connection, host)
        elif speech is Speech.TLS and self._tls is not None:
            transport, agreed = await shake_hands(connection, self._tls.context)
            try:
                await (self._splice(transport, address) if agreed == HTTP2 else self._http(transport, host))
            finally:
                transport.abort()

    async def _splice(self, client: socket.socket | asyncio.Transport, address: str) -> None:
        here, there = joined()
        loop = asyncio.get_running_loop()
        backend = await self._dial(address)
        try:
            await loop.connect_accepted_socket(lambda: there, backend)
            await _attach(client, here)
            await here.lost.wait()
            await there.lost.wait()
        finally:
            here.abort()
            there.abort()

    async def _dial(self, address: str) -> socket.socket:
        """Connect to the gRPC server. A full backlog of a UNIX socket says so at once, instead of making us wait."""
        connection = named_socket(address)
        try:
            async with asyncio.timeout(DIAL_LIMIT):
                while True:
                    try:
                        connection.connect(str(self._backend))
                        return connection
                    except BlockingIOError:
                        await asyncio.sleep(0.01)
        except BaseException:
            connection.close()
            raise

    async def _http(self, client: socket.socket | asyncio.Transport, host: str) -> None:
        async def handle(request: Request) -> Answer:
            return await self._exchange.answer(request, host)

        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport = await _attach(client, protocol)
        try:
            await serve_connection(reader, asyncio.StreamWriter(transport, protocol, reader, loop), handle)
        finally:
            transport.abort()


async def _attach(client: socket.socket | asyncio.Transport, protocol: asyncio.Protocol) -> asyncio.Transport:
    """Let `protocol` speak over an accepted socket, or over TLS that stands."""
    if isinstance(client, asyncio.Transport):
        hand_over(client, protocol)
        return client
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, client)
    return transport
