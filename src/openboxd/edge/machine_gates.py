"""The gates of one machine, which share its state: open, held or shut."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from openboxd.edge.datagrams import DatagramGate, Datagrams, Reach
from openboxd.edge.dials import Dial
from openboxd.edge.found_port import FoundPort
from openboxd.edge.gate import Gate
from openboxd.edge.places import is_ssh
from openboxd.edge.speaks_first import dial_speaking
from openboxd.edge.streams import Stream
from openboxd.edge.through_agent import Guest, dial_agent
from openboxd.edge.turns import GateState
from openboxd.model import Held, Way

DRAIN = 0.15
"""Seconds that connections get to end, counted from the beginning of the hold."""

LOOK_LIMIT = 2.0

log = logging.getLogger(__name__)


class MachineGates:
    """Its ways in, the gates of those that can be listened on, and why the other ones cannot."""

    def __init__(self, machine_id: str, name: str) -> None:
        self.id, self.name = machine_id, name
        self.ways: Sequence[Way] = ()
        self.gates: dict[Way, Gate | DatagramGate] = {}
        self.problems: dict[Way, str] = {}
        self._state = GateState.HELD  # until its worker has said how it is
        self._reason = ""
        self._guest: Guest | None = None
        self._held_since = time.monotonic()
        self._found = FoundPort()

    @property
    def in_use(self) -> bool:
        """Whether there is any connection, let through or waiting."""
        return any(gate.in_use for gate in self.gates.values())

    def title(self, way: Way) -> str:
        """What is behind a way, for people."""
        kind = "UDP port" if way.protocol == "udp" else "port"
        return f"{f'{kind} {way.port}' if way.port else 'the web server'} of machine '{self.name}'"

    # -- how its guest is reached

    def dial(self, way: Way) -> Dial:
        """How the gate of this way reaches the guest that is there at the time."""

        async def dial() -> Stream:
            guest = self._present_guest()
            if is_ssh(way):
                return await dial_speaking(guest, way.port)
            return await (dial_agent(guest, way.port) if way.port else self._found.dial(guest))

        return dial

    def reach(self, way: Way) -> Reach:
        """The same for datagrams of one client."""

        async def reach() -> Datagrams:
            return await self._present_guest().datagrams(way.port)

        return reach

    async def found_port(self) -> int:
        """The port of the default route, asked for where that is possible."""
        if self._state is GateState.OPEN and self._guest is not None and self._guest.ready:
            try:
                async with asyncio.timeout(LOOK_LIMIT):
                    return await self._found.look(self._guest)
            except OSError as error:
                log.debug("machine %s does not say what it listens on: %s", self.id, error)
        return self._found.port

    def _present_guest(self) -> Guest:
        if self._guest is None:
            raise ConnectionRefusedError(f"machine '{self.name}' has no agent")
        return self._guest

    # -- how it is

    async def tell_state(self, gate: Gate | DatagramGate) -> None:
        """Put a new gate into the state of the others."""
        if self._state is GateState.HELD:
            gate.begin_hold()
        elif self._state is GateState.SHUT:
            await gate.shut(self._reason)

    def turn_away(self, reason: str) -> None:
        """Turn those away who wait now."""
        for gate in self.gates.values():
            gate.turn_away(reason)

    def hold(self) -> None:
        """Let nobody through from now on; harmless twice."""
        if self._state is not GateState.HELD:
            self._state, self._held_since = GateState.HELD, time.monotonic()
            for gate in self.gates.values():
                gate.begin_hold()

    async def drain(self) -> None:
        """Give those who are let through what is left of their moment to end, then cut them."""
        left = max(0.0, self._held_since + DRAIN - time.monotonic())
        await asyncio.gather(*(gate.drain(left) for gate in self.gates.values()))

    def open(self, guest: Guest) -> Held:
        """Let everybody through, to this guest; what the hold cost."""
        if self._guest is not guest:
            self._guest = guest
            self._found.begin_anew()
        self._state = GateState.OPEN
        held = Held()
        for gate in self.gates.values():
            held = held.and_also(gate.release())
        return held

    async def shut(self, reason: str) -> None:
        """Turn everybody away with this sentence."""
        self._state, self._reason, self._guest = GateState.SHUT, reason, None
        await asyncio.gather(*(gate.shut(reason) for gate in self.gates.values()))
