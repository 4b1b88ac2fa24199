"""Answers sshd's question whether a key may log in, by asking the host.

sshd runs a small program for each key that a client offers; it connects to a socket of ours, writes
`<user> <fingerprint>` and a newline, and prints what it is answered: lines for authorized_keys, or nothing. Only root
can connect. The host decides at that moment, so that a key that was linked or removed counts at once, whatever a
restore has brought back.
"""

from __future__ import annotations

import _socket
import os
import select
from typing import TYPE_CHECKING, Any, cast

from openboxd.guest.agent.loop import Loop
from openboxd.guest.agent.pipes import read_some

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

SOCKET = "/run/boxd-agent/keys"
MAX_QUESTIONS = 16
MAX_LINE = 512
LIMIT = 10.0  # seconds for a question from beginning to end
_READABLE = select.EPOLLIN


class KeyDoor:
    """The listening socket."""

    def __init__(self, link: Link, path: str) -> None:
        self._link = link
        self._open = 0
        directory = os.path.dirname(path)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        self._listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
        before = os.umask(0o077)
        try:
            self._listener.bind(path)
        finally:
            os.umask(before)
        self._listener.listen(MAX_QUESTIONS)
        link.loop.watch(self._listener.fileno(), _READABLE, self._accept)

    def _accept(self, _events: int) -> None:
        try:
            fd, _ = cast(Any, self._listener)._accept()  # what `socket.accept` is made of; its stub lacks it
        except BlockingIOError:
            return
        if self._open >= MAX_QUESTIONS:
            os.close(fd)
            return
        self._open += 1
        Question(self._link, fd, self._closed)

    def _closed(self) -> None:
        self._open -= 1


class Question:
    """One connection, from its accept to its close."""

    def __init__(self, link: Link, fd: int, closed: Any) -> None:
        os.set_blocking(fd, False)
        self._link = link
        self._loop: Loop = link.loop
        self._fd = fd
        self._closed = closed
        self._line = b""
        self._timer = self._loop.after(LIMIT, self._close)
        self._loop.watch(fd, _READABLE, self._readable)

    def _readable(self, _events: int) -> None:
        if self._fd < 0:
            return
        data = read_some(self._fd, MAX_LINE)
        if data is None:
            return
        self._line += data
        if data == b"" or len(self._line) > MAX_LINE:
            self._close()
        elif b"\n" in self._line:
            self._loop.forget(self._fd)
            self._ask(self._line.decode("ascii", "replace").split())

    def _ask(self, words: list[str]) -> None:
        if len(words) != 2:
            self._close()
            return
        self._link.request({"op": "keys", "user": words[0], "fingerprint": words[1]}, self._answered)

    def _answered(self, result: dict[str, Any]) -> None:
        if self._fd < 0:
            return
        text = "".join(f"{key}\n" for key in result.get("keys", ()))
        try:
            os.write(self._fd, text.encode("ascii", "replace"))  # far less than a socket takes at once
        except OSError:  # sshd's program has gone
            pass
        self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            self._timer.cancel()
            self._loop.forget(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._closed()
