"""The byte channel to the host: the virtio port in a guest, a socket where the agent is tried on a host."""

from __future__ import annotations

import errno
import os
import select
import sys
import time
from collections.abc import Callable
from typing import Protocol

from openboxd.guest.agent.loop import Loop

PORT_NAME = "org.boxd.agent.0"
PORTS = "/sys/class/virtio-ports"
_EDGES = select.EPOLLIN | select.EPOLLOUT | select.EPOLLET
# Edge-triggered: a port without a host is always "ready" (hang-up), which would be a busy loop otherwise.


class Port(Protocol):
    """Where the channel's bytes come from and go to; never blocks."""

    def attach(self, loop: Loop, edge: Callable[[], None]) -> None:
        """Call `edge` whenever reading or writing may have become possible."""
        ...

    def read(self, limit: int) -> bytes:
        """What is there, at most `limit` bytes; empty if nothing is, or nobody is at the other end."""
        ...

    def write(self, data: bytes | memoryview) -> int:
        """Hand over bytes; how many were taken, 0 if none can be now."""
        ...


class FilePort:
    """An open descriptor. The host comes and goes behind a virtio port without the descriptor noticing; with
    `ends` (a socket) the end of the input ends the agent."""

    def __init__(self, fd: int, *, ends: bool) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._ends = ends

    def attach(self, loop: Loop, edge: Callable[[], None]) -> None:
        loop.watch(self._fd, _EDGES, lambda _events: edge())

    def read(self, limit: int) -> bytes:
        data = _read(self._fd, limit)
        if data == b"" and self._ends:
            sys.exit(0)
        return data or b""

    def write(self, data: bytes | memoryview) -> int:
        return _write(self._fd, data)


class ListeningPort:
    """A UNIX socket that hosts connect to one after the other, as they do to QEMU's: for tests."""

    def __init__(self, path: str) -> None:
        import socket  # not needed in a guest, and slow to import there

        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path + ".new")
        self._listener.listen(4)
        os.rename(path + ".new", path)  # whoever sees it can connect
        self._listener.setblocking(False)
        self._peer: socket.socket | None = None

    def attach(self, loop: Loop, edge: Callable[[], None]) -> None:
        self._loop, self._edge = loop, edge
        loop.watch(self._listener.fileno(), select.EPOLLIN, self._accept)

    def _accept(self, _events: int) -> None:
        peer, _ = self._listener.accept()
        self._hang_up()
        peer.setblocking(False)
        self._peer = peer
        self._loop.watch(peer.fileno(), _EDGES, lambda _events: self._edge())

    def _hang_up(self) -> None:
        if self._peer is not None:
            self._loop.forget(self._peer.fileno())
            self._peer.close()
            self._peer = None

    def read(self, limit: int) -> bytes:
        data = _read(self._peer.fileno(), limit) if self._peer else None
        if data == b"":
            self._hang_up()
        return data or b""

    def write(self, data: bytes | memoryview) -> int:
        return _write(self._peer.fileno(), data) if self._peer else 0


def open_virtio_port() -> FilePort:
    """The agent's port, found by its name (its number varies); waits until the driver has made it."""
    while True:
        fd = _find_port()
        if fd is not None:
            return FilePort(fd, ends=False)
        time.sleep(0.05)


def _find_port() -> int | None:
    try:
        for entry in os.listdir(PORTS):
            with open(f"{PORTS}/{entry}/name") as name:
                if name.read().strip() == PORT_NAME:
                    return os.open(f"/dev/{entry}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENXIO, errno.EBUSY):  # busy: the last agent is just ending
            raise
    return None


def _read(fd: int, limit: int) -> bytes | None:
    try:
        return os.read(fd, limit)
    except BlockingIOError:
        return None
    except ConnectionError:
        return b""


def _write(fd: int, data: bytes | memoryview) -> int:
    try:
        return os.write(fd, data)
    except (BlockingIOError, BrokenPipeError, ConnectionError):
        return 0
