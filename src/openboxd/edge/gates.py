"""The gates of all machines. A machine's gates share its state: open, held or shut.

What cannot be listened on (a port that somebody else has taken) is a problem that is told and tried again every now
and then, never a failure: the machine itself is not concerned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from openboxd.edge.datagrams import DatagramGate
from openboxd.edge.found_port import FoundPort
from openboxd.edge.gate import Gate
from openboxd.edge.kept import Kept
from openboxd.edge.limits import Limits
from openboxd.edge.listeners import Listeners
from openboxd.edge.machine_gates import MachineGates
from openboxd.edge.places import is_ssh, obstacle, place, socket_name
from openboxd.edge.through_agent import Guest
from openboxd.edge.turns import Waited
from openboxd.model import Held, Way

FINISH = 0.5
"""Seconds that connections get to end when the daemon ends."""

RETRY = 1.0
"""Seconds after which it is looked whether a port that was taken is free."""

SSH_STARTS, SSH_RETRY = 20.0, 0.1
"""Every guest has an sshd, which comes up after the agent, and starts anew when it is given another host key."""

log = logging.getLogger(__name__)


class Gates:
    """Implements ports.Ways.

    Args:
        directory: where host names are sockets; private.
        host: address that TCP ports are listened on.
        unserved: why the HTTPS front does not serve a domain of one's own yet; empty if it does.
        waited: told the seconds that each held connection waited.
        kept: where listening sockets outlive this daemon.
    """

    def __init__(
        self,
        directory: Path,
        host: str,
        limits: Limits | None = None,
        waited: Waited = lambda seconds: None,
        unserved: Callable[[str], str] = lambda domain: "",
        kept: Kept | None = None,
    ) -> None:
        self._listeners = Listeners(directory, host, kept)
        self._limits, self._waited = limits or Limits(), waited
        self._unserved = unserved
        self._told: Callable[[str], None] = lambda machine_id: None
        self._machines: dict[str, MachineGates] = {}
        self._owners: dict[str, Gate | DatagramGate] = {}  # whose socket a host name is
        self._arranging = asyncio.Lock()
        self._retrying: asyncio.Task[None] | None = None  # while there is a problem

    # -- which ways there are

    async def arrange(self, machine_id: str, name: str, ways: Sequence[Way]) -> None:
        """See ports.Ways."""
        async with self._arranging:
            machine = self._machines.setdefault(machine_id, MachineGates(machine_id, name))
            machine.name, machine.ways = name, tuple(ways)
            places = {place(way): way for way in ways}
            for way in machine.gates.keys() - set(ways):
                gate, successor = machine.gates[way], places.get(place(way))
                if successor is not None and isinstance(gate, Gate):  # it leads to another port from now on
                    machine.gates[successor] = machine.gates.pop(way)
                    gate.dial = machine.dial(successor)
                else:
                    await self._remove(machine, way)
            machine.problems = {way: text for way, text in machine.problems.items() if way in ways}
            for way, gate in machine.gates.items():
                gate.name = machine.title(way)
            await self._open_missing(machine)

    async def drop(self, machine_id: str) -> None:
        """See ports.Ways."""
        async with self._arranging:
            machine = self._machines.pop(machine_id, None)
            for way in list(machine.gates) if machine else ():
                assert machine is not None
                await self._remove(machine, way)

    async def close(self) -> None:
        """End all gates. The sockets' names stay for the next daemon to take over, and those who come from now on."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.wait([self._retrying])
        gates = [gate for machine in self._machines.values() for gate in machine.gates.values()]
        self._machines.clear()
        await asyncio.gather(*(gate.finish(FINISH) for gate in gates if isinstance(gate, Gate)))
        await asyncio.gather(*(gate.close() for gate in gates))

    def problems(self, machine_id: str = "") -> Sequence[str]:
        """See ports.Ways."""
        concerned = [machine for key, machine in self._machines.items() if machine_id in ("", key)]
        return [text for machine in concerned for text in machine.problems.values()]

    async def _open_missing(self, machine: MachineGates) -> None:
        for way in machine.ways:
            if way in machine.gates:
                continue
            try:
                await self._add(machine, way)
            except OSError as error:
                text = f"{machine.title(way)} cannot be reached: {obstacle(way, error)}"
                if machine.problems.get(way) != text:
                    log.warning("%s", text)
                machine.problems[way] = text
            else:
                if machine.problems.pop(way, None):
                    log.info("%s can be reached again", machine.title(way))
        if machine.problems and self._retrying is None:
            self._retrying = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        """Try again what could not be listened on, until all is."""
        while self.problems():
            await asyncio.sleep(RETRY)
            async with self._arranging:
                for machine in list(self._machines.values()):
                    if machine.problems:
                        await self._open_missing(machine)
        self._retrying = None

    async def _add(self, machine: MachineGates, way: Way) -> None:
        """Raises OSError if it cannot be listened on."""
        gate = machine.gates[way] = self._gate(machine, way)
        if socket_name(way):
            self._owners[socket_name(way)] = gate
        await machine.tell_state(gate)

    def _gate(self, machine: MachineGates, way: Way) -> Gate | DatagramGate:
        """Raises OSError if it cannot be listened on."""

        def used() -> None:
            self._told(machine.id)

        listener, title = self._listeners.listen(way), machine.title(way)
        if way.protocol == "udp":
            return DatagramGate(listener, machine.reach(way), title, used=used)
        limits = replace(self._limits, starting=SSH_STARTS, retry=SSH_RETRY) if is_ssh(way) else self._limits
        dial, http = machine.dial(way), bool(socket_name(way))
        return Gate(listener, dial, title, http=http, limits=limits, waited=self._waited, used=used)

    async def _remove(self, machine: MachineGates, way: Way) -> None:
        gate, name = machine.gates.pop(way), socket_name(way)
        ours = self._owners.get(name) is gate  # else the name has gone over to another machine
        if ours:
            del self._owners[name]
            self._listeners.unlink(way)
        await gate.close()
        if ours or not name:
            self._listeners.forget(way)

    # -- how a machine is

    def in_use(self, machine_id: str) -> bool:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        return machine is not None and machine.in_use

    def on_use(self, told: Callable[[str], None]) -> None:
        """See ports.Ways."""
        self._told = told

    def turn_away(self, machine_id: str, reason: str) -> None:
        """See ports.Ways."""
        if machine := self._machines.get(machine_id):
            machine.turn_away(reason)

    def hold(self, machine_id: str) -> None:
        """See ports.Ways."""
        if machine := self._machines.get(machine_id):
            machine.hold()

    async def drain(self, machine_id: str) -> None:
        """See ports.Ways."""
        if machine := self._machines.get(machine_id):
            await machine.drain()

    async def open(self, machine_id: str, guest: Guest) -> Held:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        if machine is None:
            return Held()
        held = machine.open(guest)
        async with self._arranging:
            if self._machines.get(machine_id) is machine:
                await self._open_missing(machine)
        return held

    async def shut(self, machine_id: str, reason: str) -> None:
        """See ports.Ways."""
        if machine := self._machines.get(machine_id):
            await machine.shut(reason)

    async def found_port(self, machine_id: str) -> int:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        return await machine.found_port() if machine else FoundPort().port

    def is_free(self, public_port: int) -> bool:
        """See ports.Ways."""
        return self._listeners.is_free(public_port)

    def sweep(self) -> int:
        """Remove the names of sockets that belong to no machine; how many. Only after all were arranged."""
        return self._listeners.sweep(self._owners.keys())

    def domain_problem(self, domain: str) -> str:
        """See ports.Ways."""
        ways = ((way, text) for machine in self._machines.values() for way, text in machine.problems.items())
        return next((text for way, text in ways if way.domain == domain), "") or self._unserved(domain)
