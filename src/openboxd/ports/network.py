"""How a run is joined to the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from openboxd.model import (
    Finding,
    Machine,
)


@dataclass(frozen=True)
class NetworkLink:
    """The network behind a run's card. The card itself is in the plan and the same for every kind of network, so that
    a capture taken with one loads with another.

    Attributes:
        prefix, gateway, resolver: what the guest is configured with; no resolver = "".
        tap: descriptor of a tap device; -1 = QEMU's own user network. It belongs to whoever called `prepare`, who
            closes it once the run has it.
        restricted: QEMU's user network leads nowhere.
        around: the program, with arguments, that the run's program is started by (as the same process).
        words: what the guest's kernel is told on its command line to have its address.
    """

    prefix: int
    gateway: str
    resolver: str
    tap: int = -1
    restricted: bool = True
    around: Sequence[str] = ()
    words: str = ""


class Network(Protocol):
    """Gives each machine its address and a way out, and keeps it away from the host and from other machines.

    Each run has a device of its own, which ends with its process: nothing of a dead run can stay behind.
    """

    async def check(self) -> Sequence[Finding]:
        """What the host has for this network, with remedies; changes nothing."""
        ...

    async def open(self, machines: Sequence[Machine]) -> int:
        """Set up what all machines share, and join the devices of those runs that are alive; how many things of
        others were removed. May be called twice.

        Raises:
            HostUnfit: the host does not let us.
        """
        ...

    async def prepare(self, machine: Machine, run_id: str) -> NetworkLink:
        """A link for a run that is going to start. It carries nothing yet. Raises OperationFailed."""
        ...

    async def attach(self, machine: Machine, run_id: str, pid: int) -> None:
        """From now on the machine's address is that of this run, whose process has started; an earlier run's is cut
        off. Raises OperationFailed."""
        ...

    def why_not(self, machine: Machine) -> str:
        """Why the networks and the egress list of this machine cannot be put in force here; empty if they can."""
        ...

    async def refresh(self, machine: Machine) -> None:
        """Whom this machine may reach has changed (networks, egress list, sharing): put it in force.

        Raises OperationFailed."""
        ...

    async def release(self, machine: Machine, run_id: str) -> None:
        """The run has ended. Harmless twice, and for a run that never was."""
        ...

    async def close(self) -> None:
        """Remove everything that `open` has made. Machines that run lose their network."""
        ...
