"""How the gRPC server behind the front learns who called.

Over a UNIX socket the server sees the name that the connecting end is bound to, and nothing else. So the front binds
its end to an abstract name that says the client's address.
"""

from __future__ import annotations

import secrets
import socket
from urllib.parse import unquote

MARK = "boxd/"
FROM_MACHINE = "machine/"
"""What the addresses of machines begin with."""


def named_socket(address: str) -> socket.socket:
    """A UNIX socket whose peer will see `address`. The random part keeps names apart: they are the whole host's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        connection.bind(f"\0{MARK}{secrets.token_hex(8)}/{address}")
    except BaseException:
        connection.close()
        raise
    return connection


def address_of(peer: str) -> str:
    """The client's address out of gRPC's name for its peer."""
    _, mark, rest = unquote(peer).partition(MARK)
    return rest.partition("/")[2] if mark else peer
