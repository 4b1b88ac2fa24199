"""What may stand in a machine's networks and in its egress list. Pure functions."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from openboxd.errors import InvalidArgument

MAX_NETWORKS = 16
MAX_EGRESS = 256
"""Entries of an egress list at most."""

_NETWORK = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_HOST = re.compile(r"(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST = 253
_NOT_THE_WORLD = tuple(
    ipaddress.IPv4Network(each)
    for each in ("0.0.0.0/8", "10.213.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3")
)


def check_networks(names: Sequence[str]) -> tuple[str, ...]:
    """The networks, each once. Raises InvalidArgument."""
    for name in names:
        if not _NETWORK.fullmatch(name):
            raise InvalidArgument(
                f"'{name}' is no network: 1 to 63 characters of a-z 0-9 -, with a letter or digit at both ends"
            )
    chosen = tuple(dict.fromkeys(names))
    if len(chosen) > MAX_NETWORKS:
        raise InvalidArgument(f"a machine is in at most {MAX_NETWORKS} networks, not {len(chosen)}")
    return chosen


def check_egress(entries: Sequence[str]) -> tuple[str, ...]:
    """The entries as they are kept, each once: host names, '*.' and a name, IPv4 addresses and ranges.

    Raises InvalidArgument."""
    chosen = tuple(dict.fromkeys(_egress_entry(entry) for entry in entries))
    if len(chosen) > MAX_EGRESS:
        raise InvalidArgument(f"an egress list has at most {MAX_EGRESS} entries, not {len(chosen)}")
    return chosen


def _egress_entry(text: str) -> str:
    name = text.lower().removesuffix(".")
    if _HOST.fullmatch(name) and len(name) <= _LONGEST:
        return name
    try:
        where = ipaddress.IPv4Network(text)
    except ValueError:
        raise InvalidArgument(
            f"'{text}' cannot be in an egress list: write a host name, '*.' and a name, an IPv4 address or a range "
            "such as 203.0.113.0/24"
        ) from None
    if any(where.subnet_of(other) for other in _NOT_THE_WORLD):
        raise InvalidArgument(f"{text} is no part of the world that machines reach")
    return str(where.network_address) if where.prefixlen == where.max_prefixlen else str(where)
