"""Connections to TCP services of the machine, made for the host: what a gate passes on."""

from __future__ import annotations

import _socket  # the module `socket` around it is slow to import in a guest
import os
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openboxd.guest import wire
from openboxd.guest.agent.pipes import Inlet, Outlet
from openboxd.guest.agent.stream import Refusal, Stream

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

LOOPBACKS = ((_socket.AF_INET, "127.0.0.1"), (_socket.AF_INET6, "::1"))
"""Where a service is looked for, in this order: most listen on all addresses, some on one of these."""

_CONNECTED = select.EPOLLOUT | select.EPOLLONESHOT


class Joined(Stream):
    """A stream joined to a socket. Data both ways; each direction ends by itself (half-close), and both end the
    stream."""

    def __init__(self, link: Link, ident: int, window: int) -> None:
        super().__init__(link, ident, window)
        self._socket: _socket.socket | None = None
        self._inlet: SocketInlet | None = None
        self._outlet: SocketOutlet | None = None

    def join(self, socket: _socket.socket) -> None:
        """Pass on between `socket`, which is ours from now on, and the host."""
        self._socket = socket
        self._inlet = SocketInlet(self, socket, self._settle)
        self._outlet = SocketOutlet(self, os.dup(socket.fileno()), wire.DATA, self._read_out)

    def on_data(self, kind: int, payload: bytes) -> None:
        if self._inlet is not None:
            self._inlet.feed(payload)

    def on_eof(self, kind: int) -> None:
        if self._inlet is not None:
            self._inlet.end()

    def on_credit(self) -> None:
        if self._outlet is not None:
            self._outlet.resume()

    def _read_out(self) -> None:
        """The other end has ended its direction, or the whole connection by force."""
        assert self._outlet is not None
        if self._outlet.broken:
            self.finish(reset=True)
        elif not self.ended:
            self.link.send(wire.frame(wire.EOF_DATA, self.ident))
            self._settle()

    def _settle(self) -> None:
        """Are both directions over?"""
        if self._inlet is not None and self._outlet is not None and not (self._inlet.open or self._outlet.open):
            self.finish()

    def closed(self, epoch_over: bool) -> None:
        if self._inlet is not None:
            self._inlet.close()
        if self._outlet is not None:
            self._outlet.close()
        self._let_go()

    def _let_go(self) -> None:
        if self._socket is not None:
            self.link.loop.forget(self._socket.fileno())
            self._socket.close()
            self._socket = None


class Dial(Joined):
    """One connection to a service."""

    def __init__(self, link: Link, ident: int, request: dict[str, Any]) -> None:
        super().__init__(link, ident, int(request["window"]))
        self._port = int(request["port"])
        self._addresses = list(LOOPBACKS)
        self._reason = ""  # of the first address: where there is no IPv6, its error says nothing about the service
        self._early: list[bytes] = []  # came before the connection stood; bounded by the window
        self._ends_early = False

    # -- connecting
    def opened(self) -> None:
        if not 0 < self._port < 65536:
            raise Refusal("argument", f"{self._port} is no port; ports go from 1 to 65535")
        self._try_next()

    def _try_next(self) -> None:
        """Connect to the next address."""
        self._let_go()
        while self._addresses:
            family, host = self._addresses.pop(0)
            try:
                self._socket = _socket.socket(
                    family, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC
                )
                self._socket.connect((host, self._port))
            except BlockingIOError:
                assert self._socket is not None
                self.link.loop.watch(self._socket.fileno(), _CONNECTED, self._decided)
                return
            except OSError as error:
                self._let_go()
                self._reason = self._reason or str(error.strerror)
            else:
                self._established()
                return
        raise Refusal("state", f"nothing answers on port {self._port} of the machine: {self._reason.lower()}")

    def _decided(self, _events: int) -> None:
        if self._socket is None:
            return
        number = self._socket.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
        self.link.loop.forget(self._socket.fileno())
        try:
            if number:
                self._reason = self._reason or os.strerror(number)
                self._try_next()
            else:
                self._established()
        except Refusal as refusal:
            self.refuse(refusal)

    def _established(self) -> None:
        assert self._socket is not None
        self._socket.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        self.join(self._socket)
        self.control(connected=True)
        for piece in self._early:
            super().on_data(wire.DATA, piece)
        self._early.clear()
        if self._ends_early:
            super().on_eof(wire.EOF_DATA)

    def on_data(self, kind: int, payload: bytes) -> None:
        if self._inlet is not None:
            super().on_data(kind, payload)
        else:
            self._early.append(payload)

    def on_eof(self, kind: int) -> None:
        if self._inlet is not None:
            super().on_eof(kind)
        else:
            self._ends_early = True


class SocketInlet(Inlet):
    """Data on its way to a service; its end closes that direction only."""

    def __init__(self, stream: Stream, socket: _socket.socket, done: Callable[[], None]) -> None:
        super().__init__(stream, os.dup(socket.fileno()))
        self._socket = socket
        self._done = done

    def close(self) -> None:
        if self.open:
            try:
                self._socket.shutdown(_socket.SHUT_WR)
            except OSError:  # the other end is gone already
                pass
            super().close()
            self._done()


class SocketOutlet(Outlet):
    """Data on its way from a service. `broken`: it did not end, it was cut off."""

    broken = False

    def read(self, size: int) -> bytes | None:
        try:
            return os.read(self._fd, size)
        except BlockingIOError:
            return None
        except OSError:
            self.broken = True
            return b""
