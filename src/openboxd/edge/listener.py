"""The listening socket of a gate: a UNIX socket for the HTTPS front, or a port of this host.

A UNIX socket gets its name by a rename, so an old one (of a daemon that was killed) is replaced without a moment in
which a client would find nothing, and the name may be longer than the 107 bytes that a socket address holds.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

BACKLOG = 1024
"""Connections the kernel keeps for us while we are busy or away for a moment."""

_TRANSIENT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED}
_PAUSE = 0.05
"""Seconds without accepting when the host is out of descriptors; what waits stays in the backlog."""


def listen_unix(path: Path) -> socket.socket:
    """Listen under this name, taking it over from whoever had it. Its directory must exist and be private.

    Raises:
        OSError: the directory is missing or its path is too long.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    temporary = path.with_name(f".{secrets.token_hex(4)}")
    try:
        listener.bind(str(temporary))
        temporary.chmod(0o600)
        listener.listen(BACKLOG)
        temporary.replace(path)
    except BaseException:
        listener.close()
        temporary.unlink(missing_ok=True)
        raise
    return listener


def listen_tcp(host: str, port: int) -> socket.socket:
    """Listen on a TCP port; connections that an earlier daemon left behind do not stand in the way.

    Raises:
        OSError: the port is taken, or not ours to take.
    """
    listener = _bound(socket.SOCK_STREAM, host, port, reuse=True)
    try:
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def listen_udp(host: str, port: int) -> socket.socket:
    """Listen on a UDP port.

    Raises:
        OSError: the port is taken, or not ours to take.
    """
    return _bound(socket.SOCK_DGRAM, host, port)


def _bound(kind: int, host: str, port: int, *, reuse: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, kind | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        if reuse:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except BaseException:
        bound.close()
        raise
    return bound


class Acceptor:
    """Hands every connection of a listening socket on. Must be made inside a running loop."""

    def __init__(self, listener: socket.socket, take: Callable[[socket.socket], None]) -> None:
        self._listener = listener
        self._take = take
        self._task = asyncio.create_task(self._accept())

    @property
    def port(self) -> int:
        """The TCP port that is listened on; 0 for a UNIX socket."""
        name = self._listener.getsockname()
        return int(name[1]) if isinstance(name, tuple) else 0

    async def close(self) -> None:
        """Stop listening. A UNIX socket's name is the caller's to remove."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._listener.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                if error.errno == errno.EINVAL:  # it was shut down: somebody else listens under its name now
                    return
                if error.errno not in _TRANSIENT:
                    raise
                await asyncio.sleep(_PAUSE)
                continue
            os.set_inheritable(connection.fileno(), False)
            self._take(connection)
