"""Addresses that every machine finds in its network, whatever kind it is."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path

NETWORK = ipaddress.ip_network("10.213.0.0/16")
GATEWAY = str(NETWORK[1])
GATEWAY_MAC = "52:55:" + NETWORK[1].packed.hex(":")
"""As QEMU's user network has it: a restored guest goes on with the MAC it knew, whatever network it had."""
RESOLVER = str(NETWORK[2])
"""Not a server but an address of ours that leads to the host's resolver: captures outlive a change of it."""

RESOLVER_FILES = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))
"""The first that exists counts: systemd-resolved has the real servers there, and its own address in the other."""


def host_resolver(files: Iterable[Path] = RESOLVER_FILES) -> str:
    """The host's first resolver that a machine can reach by IPv4; empty if there is none."""
    for file in files:
        try:
            words = [line.split() for line in file.read_text(errors="replace").splitlines()]
        except OSError:
            continue
        for each in words:
            if len(each) > 1 and each[0] == "nameserver" and _reachable(each[1]):
                return each[1]
        return ""
    return ""


def kernel_words(address: str, resolver: str) -> str:
    """Words for a kernel's command line that give a machine its address; systemd-network-generator reads them."""
    words = f"ip={ipaddress.IPv4Address(address)}::{GATEWAY}:{NETWORK.netmask}::eth0:none"
    return f"{words} nameserver={ipaddress.IPv4Address(resolver)}" if resolver else words


def _reachable(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.version == 4 and not (address.is_loopback or address.is_unspecified or address.is_link_local)
