"""How often one address may knock."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

KNOCKS = 30
PERIOD = 60.0
"""Seconds in which an address may knock `KNOCKS` times, as at the hosted service."""

ADDRESSES = 10_000
"""Addresses that are remembered; the one that was quiet longest is forgotten first."""


class RateLimit:
    """Counts what each address did in the last period, in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, addresses: int = ADDRESSES) -> None:
        self._clock, self._addresses = clock, addresses
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def admit(self, address: str) -> int:
        """0 and one knock counted, or the seconds until the address may knock again."""
        now = self._clock()
        times = self._seen.setdefault(source_of(address), deque())
        self._seen.move_to_end(source_of(address))
        if len(self._seen) > self._addresses:
            self._seen.popitem(last=False)
        while times and times[0] <= now - PERIOD:
            times.popleft()
        if len(times) >= KNOCKS:
            return max(1, math.ceil(times[0] + PERIOD - now))
        times.append(now)
        return 0


def source_of(address: str) -> str:
    """What counts as one source: an IPv4 address, or the /64 that one IPv6 host can choose from."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
