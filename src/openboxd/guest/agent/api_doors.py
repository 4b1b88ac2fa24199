"""Doors of the daemon, as processes of the machine find them: sockets of ours whose connections become streams.

    10.213.0.1:9002   the gateway's address, where clients look for metadata; the same port speaks gRPC. A rule of the
                      network configuration makes the kernel take just this port of the gateway for its own.
    /run/boxd/cli     for the `boxd` command; needs no network

Any process may connect: what it is for the daemon is this machine, because it came through this machine's channel.
Whether there are doors at all is the daemon's word, asked for at the beginning of every epoch: an isolated machine
has none.
"""

from __future__ import annotations

import _socket
import os
import select
import time
from typing import TYPE_CHECKING, Any, cast

from openboxd.guest import wire
from openboxd.guest.agent.dial import Joined

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

GATEWAY = "10.213.0.1:9002"
CLI = "/run/boxd/cli"
BACKLOG = 64
MAX_OPEN = 30
"""Connections at a time, at all doors: the daemon takes a few more."""
AT_ONCE, RATE = 200.0, 8.0
"""Connections that are passed on in one go, and further ones a second; the others wait. The daemon gives up a channel
that opens a thousand streams a minute."""
_FREEBIND, _TRANSPARENT = 15, 19
_READABLE = select.EPOLLIN | select.EPOLLONESHOT


def hints(identity: dict[str, Any]) -> dict[str, str]:
    """Variables by which programs know that they are in a machine, and in which. /etc/environment has the first, for
    those that are not started by us."""
    known = {"BOXD_PROXY_ENDPOINT": GATEWAY}
    if "machine_id" in identity:
        known |= {"BOXD_VM_ID": str(identity["machine_id"]), "BOXD_VM_NAME": str(identity.get("name", ""))}
    return known


class Doors:
    """Opens and closes them."""

    def __init__(self, link: Link, gateway: str, cli: str) -> None:
        self._link = link
        self._places = {"api": gateway, "cli": cli}
        self._listeners: dict[str, _socket.socket] = {}
        self._waiting: set[str] = set()  # doors where somebody stands while none may come in
        self._open = 0
        self._left, self._at = AT_ONCE, time.monotonic()
        self._timer = False

    def ask(self) -> None:
        """Begin of an epoch."""
        self._link.request({"op": "inside"}, self._answered)

    def _answered(self, result: dict[str, Any]) -> None:
        if result.get("open") is True:
            for door in self._places:
                self._listen(door)
        elif "open" in result:
            for listener in self._listeners.values():
                self._link.loop.forget(listener.fileno())
                listener.close()
            self._listeners.clear()

    def _listen(self, door: str) -> None:
        if door in self._listeners:
            return
        try:
            listener = _bound(self._places[door])
        except OSError as error:
            print(f"boxd: {self._places[door]} cannot be listened on: {error.strerror}", flush=True)
            return
        self._listeners[door] = listener
        self._link.loop.watch(listener.fileno(), _READABLE, lambda _events: self._come(door))

    def _come(self, door: str) -> None:
        """Somebody stands at a door."""
        listener = self._listeners.get(door)
        if listener is None:
            return
        if self._open >= MAX_OPEN or not self._allowed():
            self._waiting.add(door)
            return
        try:
            fd, peer = cast(Any, listener)._accept()  # what `socket.accept` is made of; its stub lacks it
        except OSError:
            fd, peer = -1, ""  # it is gone again
        if fd >= 0 and not _is_here(peer):
            os.close(fd)
        elif fd >= 0:
            self._open += 1
            os.set_blocking(fd, False)
            socket = _socket.socket(fileno=fd)
            self._link.visit(door, lambda link, ident: Visit(link, ident, socket, self._left_again))
        self._link.loop.rearm(listener.fileno(), _READABLE)

    def _allowed(self) -> bool:
        """Whether one more may come in now; if not, a timer looks again."""
        now = time.monotonic()
        self._left, self._at = min(AT_ONCE, self._left + (now - self._at) * RATE), now
        if self._left >= 1:
            self._left -= 1
            return True
        if not self._timer:
            self._timer = True
            self._link.loop.after(1 / RATE, self._look_again)
        return False

    def _look_again(self) -> None:
        self._timer = False
        self._let_in()

    def _left_again(self) -> None:
        self._open -= 1
        self._let_in()

    def _let_in(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for door in waiting:
            self._come(door)


class Visit(Joined):
    """One connection to a door."""

    def __init__(self, link: Link, ident: int, socket: _socket.socket, left: Any) -> None:
        super().__init__(link, ident, wire.VISIT_WINDOW)
        self._visitor = socket
        self._left = left

    def opened(self) -> None:
        if self._visitor.family != _socket.AF_UNIX:
            self._visitor.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        self.join(self._visitor)

    def on_result(self) -> None:
        """What the daemon sent is delivered before the connection ends."""
        inlet, self._inlet = self._inlet, None
        if inlet is not None:
            inlet.end()
        self.end()

    def closed(self, epoch_over: bool) -> None:
        super().closed(epoch_over)
        self._left()


def _is_here(peer: Any) -> bool:
    """Whether somebody of this machine is at the other end, not of its network: the rule that leads here sets the
    source, and no network delivers packets from it."""
    return not isinstance(peer, tuple) or str(peer[0]).startswith("127.")


def _bound(place: str) -> _socket.socket:
    """A listening socket at a path or HOST:PORT. Raises OSError."""
    kind = _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC
    if place.startswith("/"):
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        try:
            os.unlink(place)
        except FileNotFoundError:
            pass
        listener = _socket.socket(_socket.AF_UNIX, kind)
        before = os.umask(0o111)
        try:
            listener.bind(place)
        finally:
            os.umask(before)
    else:
        host, _, port = place.rpartition(":")
        listener = _socket.socket(_socket.AF_INET, kind)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.setsockopt(_socket.IPPROTO_IP, _FREEBIND, 1)  # the address is the host's,
        listener.setsockopt(_socket.IPPROTO_IP, _TRANSPARENT, 1)  # and answers come from it all the same
        listener.bind((host, int(port)))
    listener.listen(BACKLOG)
    return listener
