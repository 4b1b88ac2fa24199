"""Names and addresses by which this host is reached."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from openboxd.settings import Settings


def own_names(settings: Settings) -> Sequence[str]:
    """Names and addresses by which this host is reached."""
    host = settings.listen.rpartition(":")[0].strip("[]")
    names = [settings.zone, "localhost", "127.0.0.1", "::1", socket.gethostname(), host]
    return [name for name in dict.fromkeys(names) if name and not _is_wildcard(name)]


def local_address(address: str) -> str:
    """How this host reaches an address that is listened on: a wildcard is reached by loopback."""
    host, _, port = address.rpartition(":")
    return f"{'127.0.0.1' if _is_wildcard(host.strip('[]')) else host}:{port}"


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:  # a name
        return False
