"""Where people come in by a way: the name of a socket that the HTTPS front finds, or a port of this host."""

from __future__ import annotations

import errno

from openboxd.edge.caddy_config import socket_of
from openboxd.model import Way

SSH_PORT = 22


def place(way: Way) -> tuple[str, int, str]:
    """Where people come in, whatever port it leads to."""
    return socket_name(way), way.public_port, way.protocol


def socket_name(way: Way) -> str:
    """The name of a way's socket, as the HTTPS front finds it; empty for a port of this host."""
    return socket_of(way.domain) if way.domain else way.host


def is_ssh(way: Way) -> bool:
    """The way in to the guest's sshd."""
    return bool(way.public_port) and way.port == SSH_PORT and way.protocol == "tcp"


def obstacle(way: Way, error: OSError) -> str:
    """Why a way cannot be listened on, and what becomes of it."""
    if not way.public_port:
        return f"the socket of '{way.host or way.domain}' cannot be listened on: {error.strerror}"
    what = f"{way.protocol.upper()} port {way.public_port} of this host"
    if error.errno == errno.EADDRINUSE:
        return f"{what} is taken by another program; it is the machine's again as soon as that one ends"
    return f"{what} cannot be listened on: {error.strerror}"
