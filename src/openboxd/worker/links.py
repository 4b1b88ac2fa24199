"""The network of runs: prepared before one starts, joined when it is the machine's, released when it has ended.

A machine without a network is better than none: where joining fails, that is logged and the machine runs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from openboxd.errors import BoxdError
from openboxd.model import Finding, Machine
from openboxd.ports import Network, NetworkLink, Run

log = logging.getLogger(__name__)


class NoNetwork:
    """Implements Network for a host that offers none: the cards lead nowhere."""

    async def check(self) -> Sequence[Finding]:
        return []

    async def open(self, machines: Sequence[Machine]) -> int:
        return 0

    async def prepare(self, machine: Machine, run_id: str) -> NetworkLink:
        return NetworkLink(prefix=16, gateway="10.213.0.1", resolver="")

    async def attach(self, machine: Machine, run_id: str, pid: int) -> None: ...

    def why_not(self, machine: Machine) -> str:
        return ""

    async def refresh(self, machine: Machine) -> None: ...

    async def release(self, machine: Machine, run_id: str) -> None: ...

    async def close(self) -> None: ...


async def start_linked(
    network: Network, machine: Machine, run_id: str, start: Callable[[NetworkLink], Awaitable[Run]]
) -> Run:
    """Start a run with a link of its own. If that fails nothing of the link is left."""
    link = await network.prepare(machine, run_id)
    try:
        return await start(link)
    except BaseException:
        await let_go(network, machine, run_id)
        raise
    finally:
        if link.tap >= 0:
            with suppress(OSError):
                os.close(link.tap)  # the run has its own


async def join(network: Network, machine: Machine, run: Run) -> None:
    """The machine's address is this run's from now on."""
    try:
        await network.attach(machine, run.run_id, run.pid)
    except BoxdError as error:
        log.warning("machine %s has no network: %s", machine.id, error)


async def let_go(network: Network, machine: Machine, run_id: str) -> None:
    """The run has ended. Harmless twice."""
    try:
        await network.release(machine, run_id)
    except BoxdError as error:
        log.warning("something of the network of machine %s is left: %s", machine.id, error)
