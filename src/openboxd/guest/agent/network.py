"""The network card under another address: in the kernel at once, and for networkd, which has it from a file.

Routes of the card stay, and lead through the same gateway: both kinds of network have the same one.
"""

from __future__ import annotations

import _socket
import os
import signal
import struct

from openboxd.guest.agent.netlink import CREATE, REPLACE, ROUTE, Netlink, attribute, attributes
from openboxd.guest.agent.textfiles import read, replace

CARD = "eth0"
FILES = "/run/systemd/network"
"""Where systemd-network-generator puts what the kernel's command line says."""

NETWORKD = "/sys/fs/cgroup/system.slice/systemd-networkd.service/cgroup.procs"

_NEWLINK = 16
_NEWADDR, _DELADDR, _GETADDR = 20, 21, 22
_NEWROUTE, _GETROUTE = 24, 26
_LINK = struct.Struct("=BxHiII")  # family, type, index, flags, change
_ADDRESS = struct.Struct("=BBBBI")  # family, prefix, flags, scope, index
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, two lengths, tos, table, protocol, scope, type, flags
_IFLA_ADDRESS = 1
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST = 1, 2, 4
_RTA_OIF, _RTA_PREFSRC = 4, 7
_BY_KERNEL = 2  # routes that come and go with an address
_ONLINK = 4


def card_address() -> str:
    """The card's first address; empty without one. Raises OSError: there is no such card."""
    index = _socket.if_nametoindex(CARD)
    with Netlink(ROUTE) as kernel:
        for found, attrs in _addresses(kernel):
            if found == index and _IFA_LOCAL in attrs:
                return _socket.inet_ntoa(attrs[_IFA_LOCAL])
    return ""


def become(old: str, address: str, mac: str) -> None:
    """Have the card under another address and MAC. Harmless if it is so. Raises OSError."""
    index = _socket.if_nametoindex(CARD)
    with Netlink(ROUTE) as kernel:
        hardware = attribute(_IFLA_ADDRESS, bytes.fromhex(mac.replace(":", "")))
        kernel.change(_NEWLINK, _LINK.pack(0, 0, index, 0, 0) + hardware)
        if old and old != address:
            _replace_address(kernel, index, _socket.inet_aton(old), _socket.inet_aton(address))
    if old and old != address:
        _rewrite(old, address)


def _addresses(kernel: Netlink) -> list[tuple[int, dict[int, bytes]]]:
    """Index of the card, and attributes, of each IPv4 address; the message itself under 0."""
    found = []
    for message in kernel.dump(_GETADDR, _ADDRESS.pack(_socket.AF_INET, 0, 0, 0, 0)):
        index = _ADDRESS.unpack_from(message)[4]
        found.append((index, {0: message[: _ADDRESS.size]} | attributes(message[_ADDRESS.size :])))
    return found


def _replace_address(kernel: Netlink, index: int, old: bytes, new: bytes) -> None:
    """The old address goes first: it would make the new one, of the same network, second to it."""
    present = next((a for i, a in _addresses(kernel) if i == index and a.get(_IFA_LOCAL) == old), None)
    if present is None:
        return
    routes = _routes(kernel, index)
    _, prefix, _, scope, _ = _ADDRESS.unpack(present[0])
    head = _ADDRESS.pack(_socket.AF_INET, prefix, 0, scope, index)
    kernel.change(_DELADDR, head + attribute(_IFA_LOCAL, old) + attribute(_IFA_ADDRESS, old))
    addresses = attribute(_IFA_LOCAL, new) + attribute(_IFA_ADDRESS, new)
    if _IFA_BROADCAST in present:
        addresses += attribute(_IFA_BROADCAST, present[_IFA_BROADCAST])
    kernel.change(_NEWADDR, head + addresses, CREATE | REPLACE)
    for head, attrs in routes:
        if attrs.get(_RTA_PREFSRC) == old:
            attrs[_RTA_PREFSRC] = new
        kernel.change(_NEWROUTE, head + b"".join(attribute(*item) for item in attrs.items()), CREATE | REPLACE)


def _routes(kernel: Netlink, index: int) -> list[tuple[bytes, dict[int, bytes]]]:
    """The card's routes that somebody has made, as they are to be made again."""
    found = []
    for message in kernel.dump(_GETROUTE, _ROUTE.pack(_socket.AF_INET, *[0] * 8)):
        fields = list(_ROUTE.unpack_from(message))
        attrs = attributes(message[_ROUTE.size :])
        if fields[5] != _BY_KERNEL and attrs.get(_RTA_OIF) == struct.pack("=i", index):
            fields[8] &= _ONLINK
            found.append((_ROUTE.pack(*fields), attrs))
    return found


def tell_networkd() -> None:
    """Let it read its files again; else it would bring the old address back one day."""
    for pid in read(NETWORKD).split():
        os.kill(int(pid), signal.SIGHUP)


def _rewrite(old: str, address: str) -> None:
    """The file of the boot that networkd has the address from."""
    try:
        names = sorted(os.listdir(FILES))
    except OSError:
        return
    for name in names:
        path = os.path.join(FILES, name)
        text = read(path)
        if name.endswith(".network") and f"={old}/" in text:
            replace(path, text.replace(f"={old}/", f"={address}/"), 0o644)
