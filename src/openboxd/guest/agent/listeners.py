"""Which TCP ports of the machine somebody listens on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openboxd.guest.agent.stream import Stream

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
MAX_PORTS = 1000
_LISTENING = "0A"


class Listeners(Stream):
    """Answers with the ports, lowest first."""

    def __init__(self, link: Link, ident: int, request: dict[str, Any]) -> None:
        super().__init__(link, ident, int(request["window"]))

    def opened(self) -> None:
        ports: set[int] = set()
        for table in TABLES:
            ports |= _ports(table)
        self.finish(ports=sorted(ports)[:MAX_PORTS])


def _ports(table: str) -> set[int]:
    """Each line: number, local address and port in hexadecimal, remote ones, state."""
    try:
        with open(table) as lines:
            rows = [line.split() for line in lines]
    except OSError:  # a kernel without IPv6
        return set()
    return {int(row[1].rpartition(":")[2], 16) for row in rows[1:] if row[3] == _LISTENING}
