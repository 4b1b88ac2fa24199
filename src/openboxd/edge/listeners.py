"""The listening sockets of ways in, which outlive this daemon where there is a keeper."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection
from pathlib import Path

from openboxd.edge.kept import Kept
from openboxd.edge.listener import listen_tcp, listen_udp, listen_unix
from openboxd.edge.places import socket_name
from openboxd.host.files import make_directory
from openboxd.model import Way

SOCKET_NAME = 107
"""Bytes of a socket's name that the HTTPS front, which works in their directory, can connect to."""


class Listeners:
    """Makes them, takes over those of an earlier daemon, and lets go of them.

    Args:
        directory: where host names are sockets; private, made if it is missing.
        host: address that ports are listened on.
        kept: where listening sockets outlive this daemon.
    """

    def __init__(self, directory: Path, host: str, kept: Kept | None = None) -> None:
        make_directory(directory)
        self._directory, self._host = directory, host
        self._kept = kept or Kept(directory, 0)
        for name in self._kept.names():  # an earlier daemon listened elsewhere: that may be in the way
            if name.startswith("tcp:") and not name.startswith(f"tcp:{host}:"):
                self._kept.drop(name)

    def listen(self, way: Way) -> socket.socket:
        """The one that an earlier daemon left, with those who came in meanwhile, or a new one.

        Raises:
            OSError: it cannot be listened on.
        """
        if way.protocol == "udp":
            return listen_udp(self._host, way.public_port)
        file, name = socket_name(way), self._name(way)
        if len(file) > SOCKET_NAME:
            raise OSError(errno.ENAMETOOLONG, f"it has more than {SOCKET_NAME} characters")
        found = self._kept.take(name)
        if found is not None:
            listener = socket.socket(fileno=found)
            if not file or (self._directory / file).is_socket():
                listener.setblocking(False)
                return listener
            listener.close()
        listener = listen_unix(self._directory / file) if file else listen_tcp(self._host, way.public_port)
        self._kept.keep(name, listener.fileno())
        return listener

    def unlink(self, way: Way) -> None:
        """Take a host name's socket away, before its gate is closed."""
        (self._directory / socket_name(way)).unlink(missing_ok=True)

    def forget(self, way: Way) -> None:
        """Do not keep it any longer, once its gate is closed."""
        if way.protocol != "udp":
            self._kept.drop(self._name(way))

    def is_free(self, public_port: int) -> bool:
        """Whether a port can be listened on, by TCP and UDP."""
        try:
            for listen in (listen_tcp, listen_udp):
                listen(self._host, public_port).close()
        except OSError:
            return False
        return True

    def sweep(self, known: Collection[str]) -> int:
        """Remove the sockets of all other host names (how many), and let go of what was kept and nobody has taken."""
        stray = [path for path in self._directory.iterdir() if path.name not in known]
        for path in stray:
            path.unlink(missing_ok=True)
        for kind in ("file:", "tcp:"):
            self._kept.sweep(kind)
        return len(stray)

    def _name(self, way: Way) -> str:
        """What a socket is kept as."""
        file = socket_name(way)
        return f"file:{file}" if file else f"tcp:{self._host}:{way.public_port}"
