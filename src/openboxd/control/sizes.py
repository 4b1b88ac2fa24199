"""Sizes of machines, and the addresses they get."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection

from openboxd.errors import Exhausted, InvalidArgument
from openboxd.host import memory
from openboxd.model import GIB, MIB, Size

DEFAULT_SIZE = Size(2, 8 * GIB)
PER_VCPU = 4 * GIB
"""The hosted service's ratio: naming one dimension fixes the other."""

SMALLEST_MEMORY = 512 * MIB
MEMORY_STEP = 2 * MIB
MOST_VCPU = 64

NETWORK = ipaddress.ip_network("10.213.0.0/16")
"""Private addresses of machines. .0 to .9 and .255 of each /24 stay free: gateways, resolvers, broadcast."""


def choose_size(vcpu: int, memory_bytes: int, host_memory: int | None = None) -> Size:
    """The size for a request where 0 means unsaid; never trimmed to fit.

    Raises:
        InvalidArgument: too small, too large for the host, or not a whole number of 2 MiB.
    """
    if vcpu == 0 and memory_bytes == 0:
        vcpu = DEFAULT_SIZE.vcpu  # and the memory that goes with it
    if vcpu and not 1 <= vcpu <= MOST_VCPU:
        raise InvalidArgument(f"a machine has 1 to {MOST_VCPU} vCPUs; {vcpu} were asked for")
    asked = f"{memory_bytes // MIB} MiB of memory were asked for"
    if memory_bytes == 0:
        memory_bytes = vcpu * PER_VCPU
        asked = f"{vcpu} vCPUs come with {memory_bytes // MIB} MiB of memory unless that is named too"
    if memory_bytes < SMALLEST_MEMORY or memory_bytes % MEMORY_STEP:
        raise InvalidArgument("a machine has at least 512 MiB of memory, in whole steps of 2 MiB")
    available = host_memory or memory.host_memory()
    if memory_bytes > available:
        raise InvalidArgument(f"{asked} and this host has {available // MIB} MiB; name a smaller size")
    return Size(vcpu or min(MOST_VCPU, max(1, memory_bytes // PER_VCPU)), memory_bytes)


def choose_address(taken: Collection[str]) -> str:
    """The first free address of the machines' network. Raises Exhausted."""
    for host in NETWORK.hosts():
        if 10 <= int(host) % 256 <= 254 and str(host) not in taken:
            return str(host)
    raise Exhausted("no private address is left for another machine; remove one first")


def new_mac() -> str:
    """A random address in QEMU's locally used range."""
    return "52:54:00:" + ":".join(f"{secrets.randbelow(256):02x}" for _ in range(3))
