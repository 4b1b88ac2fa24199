"""Datagrams to a UDP service of the machine, and its answers, for one client of the host's.

Each goes over the channel behind its length (16 bits, network order), so that the ends of datagrams are kept. What
cannot be passed on at once is dropped, as a network would.
"""

from __future__ import annotations

import _socket
import select
from typing import TYPE_CHECKING, Any

from openboxd.guest import wire
from openboxd.guest.agent.stream import Refusal, Stream

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

HOST = "127.0.0.1"
LARGEST = 65_507
"""Bytes of the largest datagram that IPv4 carries."""

_PREFIX = 2
_READABLE = select.EPOLLIN | select.EPOLLONESHOT


class Datagrams(Stream):
    """One client: a socket of its own, so that the service can tell clients apart. A source of the link."""

    def __init__(self, link: Link, ident: int, request: dict[str, Any]) -> None:
        super().__init__(link, ident, int(request["window"]))
        self._port = int(request["port"])
        self._socket: _socket.socket | None = None
        self._rest = b""

    def opened(self) -> None:
        if not 0 < self._port < 65536:
            raise Refusal("argument", f"{self._port} is no port; ports go from 1 to 65535")
        kind = _socket.SOCK_DGRAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC
        self._socket = _socket.socket(_socket.AF_INET, kind)
        self._socket.connect((HOST, self._port))
        self.link.loop.watch(self._socket.fileno(), _READABLE, self._readable)
        self.control(connected=True)

    # -- to the service
    def on_data(self, kind: int, payload: bytes) -> None:
        self.confirm(len(payload))
        data = self._rest + payload
        while len(data) >= _PREFIX:
            end = _PREFIX + int.from_bytes(data[:_PREFIX], "big")
            if len(data) < end:
                break
            self._send(data[_PREFIX:end])
            data = data[end:]
        self._rest = data

    def _send(self, datagram: bytes) -> None:
        try:
            if self._socket is not None:
                self._socket.send(datagram)
        except OSError:  # nobody listens, or its buffer is full
            pass

    def on_eof(self, kind: int) -> None:
        self.finish()

    # -- from the service
    def _readable(self, _events: int) -> None:
        self.link.offer(self)

    def on_credit(self) -> None:
        if self._socket is not None:
            self.link.offer(self)

    def produce(self) -> bool:
        """Send one answer; none is read, and the kernel drops what it cannot keep, while there is no credit for the
        largest."""
        if self._socket is None or self.credit < _PREFIX + LARGEST:
            return False
        try:
            datagram = self._socket.recv(LARGEST)
        except BlockingIOError:
            self.link.loop.rearm(self._socket.fileno(), _READABLE)
            return False
        except OSError:  # the service does not listen (yet): that is told with the next call
            return True
        self.send_data(wire.DATA, len(datagram).to_bytes(_PREFIX, "big") + datagram)
        return True

    # -- the end
    def closed(self, epoch_over: bool) -> None:
        if self._socket is not None:
            self.link.loop.forget(self._socket.fileno())
            self._socket.close()
            self._socket = None
