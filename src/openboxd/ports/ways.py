"""The ways in to a machine, which wait while it is swapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from openboxd.model import (
    Held,
    Way,
)
from openboxd.ports.guest import Agent


class Ways(Protocol):
    """The ways in to machines from outside: gates that hold new connections while a machine is swapped.

    Nothing here raises: what cannot be listened on is told in `boxd doctor` and tried again. All of a machine's ways
    are open, held or shut together; those of a machine that was just arranged are held. A machine that was never
    arranged has none, and the rest is harmless.
    """

    async def arrange(self, machine_id: str, name: str, ways: Sequence[Way]) -> None:
        """These are the machine's ways in from now on; connections of those that stay are not touched."""
        ...

    async def drop(self, machine_id: str) -> None:
        """The machine has no way in any more. Harmless twice."""
        ...

    def hold(self, machine_id: str) -> None:
        """New connections wait from now on; those that are established are not touched. Harmless twice."""
        ...

    async def drain(self, machine_id: str) -> None:
        """Give established connections what is left of a moment since the hold, then cut them."""
        ...

    async def open(self, machine_id: str, guest: Agent) -> Held:
        """Let everybody through, by way of this agent; what the hold cost. Harmless twice."""
        ...

    async def shut(self, machine_id: str, reason: str) -> None:
        """Turn everybody away, with a sentence where the protocol allows; established connections are cut."""
        ...

    def in_use(self, machine_id: str) -> bool:
        """Whether somebody is let through to the machine, or waits to be."""
        ...

    def on_use(self, told: Callable[[str], None]) -> None:
        """Be told the id of a machine whenever somebody comes in, waits to be let in, sends it something, or leaves.
        It is called often: it must cost nothing."""
        ...

    def turn_away(self, machine_id: str, reason: str) -> None:
        """Turn those away who wait, with a sentence where the protocol allows; who comes later waits again."""
        ...

    async def found_port(self, machine_id: str) -> int:
        """Where the machine's default route leads while nobody has pinned its port."""
        ...

    def domain_problem(self, domain: str) -> str:
        """Why a domain of one's own that leads to a machine is not served yet; empty if it is."""
        ...

    def problems(self, machine_id: str = "") -> Sequence[str]:
        """What of a machine's ways (of all machines', without one) cannot be listened on, and why."""
        ...

    def is_free(self, public_port: int) -> bool:
        """Nobody on the host listens on this port, TCP or UDP, where machines' ports are listened on."""
        ...
