"""Ends TCP connections of an address that the machine does not have any more.

Their other ends talk with the machine that this one is a copy of. Left alone they would hang until they time out;
so the kernel is told to reset them: who holds one here gets an error at once, and nothing is sent.
"""

from __future__ import annotations

import _socket
import struct

from openboxd.guest.agent.netlink import SOCK_DIAG, Netlink

TABLES = (("/proc/net/tcp", _socket.AF_INET), ("/proc/net/tcp6", _socket.AF_INET6))
_DUMP, _DESTROY = 20, 21
_REQUEST = struct.Struct("=BBBxI")  # family, protocol, extensions, states; an id follows
_ANSWER = struct.Struct("=BBBB")  # family, state, timer, retransmits; an id follows
_ID = slice(4, 52)
_SOURCE = slice(8, 24)  # in an answer, after the header and two ports
_LISTENING = "0A"
_ALL_BUT_LISTENING = 0xFFF & ~(1 << 10)


def reset(address: str) -> int:
    """Reset the connections from this address; how many. Raises OSError."""
    raw = _socket.inet_aton(address)
    count = 0
    families = [family for table, family in TABLES if _has_any(table, raw)]
    if families:  # else the kernel need not load its module for this
        with Netlink(SOCK_DIAG) as kernel:
            for family in families:
                count += _reset(kernel, family, raw)
    return count


def _reset(kernel: Netlink, family: int, raw: bytes) -> int:
    wanted = raw + bytes(12) if family == _socket.AF_INET else bytes(10) + b"\xff\xff" + raw
    count = 0
    head = _REQUEST.pack(family, _socket.IPPROTO_TCP, 0, _ALL_BUT_LISTENING)
    for answer in kernel.dump(_DUMP, head + bytes(48)):
        if answer[_SOURCE] != wanted:
            continue
        try:
            kernel.change(_DESTROY, head + answer[_ID])
            count += 1
        except FileNotFoundError:  # it has ended by itself meanwhile
            continue
    return count


def _has_any(table: str, raw: bytes) -> bool:
    """Whether a table has a connection from an address, which it shows in hexadecimal, backwards."""
    shown = raw[::-1].hex().upper()
    try:
        with open(table) as lines:
            rows = [line.split() for line in lines]
    except OSError:  # a kernel without IPv6
        return False
    return any(row[3] != _LISTENING and row[1].partition(":")[0].endswith(shown) for row in rows[1:])
