"""Whether a guest keeps connections to the outside that count as use of its machine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from openboxd.errors import BoxdError
from openboxd.model import ExecRequest, Machine
from openboxd.worker.machine import MachineWorker

LIMIT = 5.0
"""Seconds for the guest to tell; one that does not is not kept awake by what it does not tell."""

SHOWN = 4 * 1024 * 1024
"""Bytes of the guest's answer that are looked at."""

COMMAND = "cat /proc/net/tcp /proc/net/tcp6"

ESTABLISHED, LISTENING = "01", "0A"

log = logging.getLogger(__name__)


async def has_outbound(worker: MachineWorker, machine: Machine) -> bool:
    """Whether the guest has connections to other hosts: those it opened, unless the machine ignores them, and those
    that came in past the gates (from a machine on the same network)."""
    try:
        async with asyncio.timeout(LIMIT):
            table = await _ask(worker)
    except (BoxdError, TimeoutError) as error:
        log.debug("machine %s does not tell its connections: %s", worker.id, error)
        return False
    return any(is_inbound or not machine.idle_ignore_outbound for is_inbound in connections(table.splitlines()))


async def _ask(worker: MachineWorker) -> str:
    if worker.agent is None or not worker.agent.ready:
        return ""
    session = await worker.agent.exec(ExecRequest(COMMAND))
    told = bytearray()
    try:
        await session.write_eof()
        async for piece in session.output():
            told += piece.data
            if len(told) > SHOWN:
                break
    finally:
        await session.cancel()
    return told.decode("ascii", "replace")


def connections(lines: Iterable[str]) -> Iterator[bool]:
    """For each established connection to another host in the kernel's tables: whether it came in."""
    rows = [fields for line in lines if len(fields := line.split()) > 3 and ":" in fields[1]]
    listening = {_port(row[1]) for row in rows if row[3] == LISTENING}
    for row in rows:
        if row[3] == ESTABLISHED and not _is_own(row[2]):
            yield _port(row[1]) in listening


def _port(end: str) -> str:
    return end.rpartition(":")[2]


def _is_own(end: str) -> bool:
    """Whether one end of a connection, as the kernel writes it (words of 4 bytes, turned round), is the guest."""
    digits = end.rpartition(":")[0]
    try:
        raw = b"".join(bytes.fromhex(digits[i : i + 8])[::-1] for i in range(0, len(digits), 8))
        address: IPv4Address | IPv6Address = ip_address(raw)
    except ValueError:
        return True  # nothing that a kernel writes
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
