"""The ends of a command's pipes (or terminal) that the agent holds."""

from __future__ import annotations

import array
import fcntl
import os
import select
import termios
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from openboxd.guest import wire
from openboxd.guest.agent.loop import Loop

if TYPE_CHECKING:
    from openboxd.guest.agent.stream import Stream

_READABLE = select.EPOLLIN | select.EPOLLONESHOT
_WRITABLE = select.EPOLLOUT | select.EPOLLONESHOT
DRAIN_SIZE = 64 * 1024
DRAIN_PAUSE = 0.05


class Outlet:
    """Output of a command on its way to the host; a source of the link.

    Never read without credit. Once the command has ended, `finish_with` says how many bytes are still to be
    delivered: later ones come from children it left behind, which must not hold it.
    """

    def __init__(self, stream: Stream, fd: int, kind: int, done: Callable[[], None]) -> None:
        os.set_blocking(fd, False)
        self.open = True
        self._stream = stream
        self._loop = stream.link.loop
        self._fd = fd
        self._kind = kind
        self._done = done
        self._left: int | None = None
        self._loop.watch(fd, _READABLE, self._readable)

    def _readable(self, _events: int) -> None:
        self._stream.link.offer(self)

    def resume(self) -> None:
        """There is credit (again)."""
        if self.open:
            self._stream.link.offer(self)

    def waiting(self) -> int:
        """Bytes that can be read at once."""
        return unread(self._fd) if self.open else 0

    def finish_with(self, size: int) -> None:
        """Deliver `size` more bytes, then be done."""
        if self.open:
            self._left = size
            if size == 0:
                self._finish()
            else:
                self.resume()

    def produce(self) -> bool:
        if not self.open:
            return False
        size = min(wire.MAX_PAYLOAD, self._stream.credit)
        if self._left is not None:
            size = min(size, self._left)
        if size <= 0:
            return False  # `resume` when credit comes
        data = self.read(size)
        if data is None:
            self._loop.rearm(self._fd, _READABLE)
            return False
        if data == b"":
            self.release()
            os.close(self._fd)
            self._done()
            return False
        return self._deliver(data, size)

    def read(self, size: int) -> bytes | None:
        """See `read_some`."""
        return read_some(self._fd, size)

    def _deliver(self, data: bytes, size: int) -> bool:
        self._stream.send_data(self._kind, data)
        if self._left is not None:
            self._left -= len(data)
            if self._left == 0:
                self._finish()
                return False
            return True
        if len(data) == size:
            return True
        self._loop.rearm(self._fd, _READABLE)
        return False

    def _finish(self) -> None:
        """All is delivered. A child may still write: a closed pipe would kill it, a full one would stop it."""
        self.release()
        Drain(self._loop, self._fd)
        self._done()

    def release(self) -> None:
        """Stop reading; the descriptor stays open."""
        self.open = False
        self._loop.forget(self._fd)

    def close(self) -> None:
        if self.open:
            self.release()
            os.close(self._fd)


class Drain:
    """Reads a pipe into nothing, slowly (a child that writes without end must not take the machine's time), until
    nobody holds its other end."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._fd = fd
        loop.watch(fd, _READABLE, self._readable)

    def _readable(self, _events: int) -> None:
        data = read_some(self._fd, DRAIN_SIZE)
        if data == b"":
            self._loop.forget(self._fd)
            os.close(self._fd)
        else:
            self._loop.after(DRAIN_PAUSE, lambda: self._loop.rearm(self._fd, _READABLE))


class Inlet:
    """Input of a command; what does not fit waits here, bounded by the stream's window."""

    def __init__(self, stream: Stream, fd: int) -> None:
        os.set_blocking(fd, False)
        self._stream = stream
        self._loop = stream.link.loop
        self._fd = fd
        self.open = True
        self._ending = False
        self._queue: deque[bytes] = deque()
        self._loop.watch(fd, select.EPOLLONESHOT, self._writable)  # (errors are reported even so, once)

    def feed(self, data: bytes) -> None:
        if self.open and not self._ending:
            self._queue.append(data)
            if len(self._queue) == 1:
                self._write()
        else:
            self._stream.confirm(len(data))  # nobody will read it

    def end(self) -> None:
        """Close once everything is written."""
        self._ending = True
        if not self._queue:
            self.close()

    def _writable(self, _events: int) -> None:
        self._write()

    def _write(self) -> None:
        while self._queue and self.open:
            try:
                written = os.write(self._fd, self._queue[0])
            except BlockingIOError:
                self._loop.rearm(self._fd, _WRITABLE)
                return
            except OSError:  # the command has closed its input
                self.close()
                return
            self._stream.confirm(written)
            if written == len(self._queue[0]):
                self._queue.popleft()
            else:
                self._queue[0] = self._queue[0][written:]
        if self._ending:
            self.close()

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.forget(self._fd)
            os.close(self._fd)
            self._stream.confirm(sum(map(len, self._queue)))
            self._queue.clear()


def read_some(fd: int, size: int) -> bytes | None:
    """Bytes; none at the end (or when the terminal's other end is gone); None if there are none now."""
    try:
        return os.read(fd, size)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def unread(fd: int) -> int:
    """Bytes waiting in a pipe or terminal."""
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


def open_pipes(count: int) -> list[int]:
    """Read and write ends of `count` pipes; all or none. Raises OSError."""
    fds: list[int] = []
    try:
        for _ in range(count):
            fds += os.pipe()
    except OSError:
        for fd in fds:
            os.close(fd)
        raise
    return fds
