"""The gates of all machines. A machine's gates share its state: open, held or shut.

What cannot be listened on (a port that somebody else has taken) is a problem that is told and tried again every now
and then, never a failure: the machine itself is not concerned.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from openboxd.edge.caddy_config import socket_of
from openboxd.edge.datagrams import DatagramGate, Datagrams, Reach, listen_udp
from openboxd.edge.dials import Dial
from openboxd.edge.found_port import FoundPort
from openboxd.edge.gate import Gate
from openboxd.edge.kept import Kept
from openboxd.edge.limits import Limits
from openboxd.edge.listener import listen_tcp, listen_unix
from openboxd.edge.speaks_first import dial_speaking
from openboxd.edge.streams import Stream
from openboxd.edge.through_agent import Guest, dial_agent
from openboxd.edge.turns import GateState, Waited
from openboxd.host.files import make_directory
from openboxd.model import Held, Way

DRAIN = 0.15
"""Seconds that connections get to end, counted from the beginning of the hold."""

FINISH = 0.5
"""Seconds that connections get to end when the daemon ends."""

LOOK_LIMIT = 2.0

RETRY = 1.0
"""Seconds after which it is looked whether a port that was taken is free."""

SSH_PORT = 22
SSH_STARTS, SSH_RETRY = 20.0, 0.1
"""Every guest has an sshd, which comes up after the agent, and starts anew when it is given another host key."""

SOCKET_NAME = 107
"""Bytes of a socket's name that the HTTPS front, which works in their directory, can connect to."""

log = logging.getLogger(__name__)


class MachineGates:
    """The gates of one machine."""

    def __init__(self, machine_id: str, name: str) -> None:
        self.id, self.name = machine_id, name
        self.state = GateState.HELD  # until its worker has said how it is
        self.reason = ""
        self.guest: Guest | None = None
        self.held_since = time.monotonic()
        self.found = FoundPort()
        self.ways: Sequence[Way] = ()
        self.gates: dict[Way, Gate | DatagramGate] = {}
        self.problems: dict[Way, str] = {}

    def dial(self, way: Way) -> Dial:
        """How the gate of this way reaches the guest that is there at the time."""

        async def dial() -> Stream:
            if self.guest is None:
                raise ConnectionRefusedError(f"machine '{self.name}' has no agent")
            if _is_ssh(way):
                return await dial_speaking(self.guest, way.port)
            return await (dial_agent(self.guest, way.port) if way.port else self.found.dial(self.guest))

        return dial

    def reach(self, way: Way) -> Reach:
        """The same for datagrams of one client."""

        async def reach() -> Datagrams:
            if self.guest is None:
                raise ConnectionRefusedError(f"machine '{self.name}' has no agent")
            return await self.guest.datagrams(way.port)

        return reach

    def title(self, way: Way) -> str:
        """What is behind a way, for people."""
        kind = "UDP port" if way.protocol == "udp" else "port"
        return f"{f'{kind} {way.port}' if way.port else 'the web server'} of machine '{self.name}'"


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
        make_directory(directory)
        self._kept = kept or Kept(directory, 0)
        for name in self._kept.names():  # an earlier daemon listened elsewhere: that may be in the way
            if name.startswith("tcp:") and not name.startswith(f"tcp:{host}:"):
                self._kept.drop(name)
        self._waited = waited
        self._directory, self._host, self._limits = directory, host, limits
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
            places = {_place(way): way for way in ways}
            for way in machine.gates.keys() - set(ways):
                gate, successor = machine.gates[way], places.get(_place(way))
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
                text = f"{machine.title(way)} cannot be reached: {_obstacle(way, error)}"
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
        if _file(way):
            self._owners[_file(way)] = gate
        if machine.state is GateState.HELD:
            gate.begin_hold()
        elif machine.state is GateState.SHUT:
            await gate.shut(machine.reason)

    def _gate(self, machine: MachineGates, way: Way) -> Gate | DatagramGate:
        """Raises OSError if it cannot be listened on."""
        file, title, limits = _file(way), machine.title(way), self._limits or Limits()

        def used() -> None:
            self._told(machine.id)

        if way.protocol == "udp":
            return DatagramGate(listen_udp(self._host, way.public_port), machine.reach(way), title, used=used)
        if len(file) > SOCKET_NAME:
            raise OSError(errno.ENAMETOOLONG, f"it has more than {SOCKET_NAME} characters")
        listener = self._listener(way)
        if _is_ssh(way):
            limits = replace(limits, starting=SSH_STARTS, retry=SSH_RETRY)
        dial, http = machine.dial(way), bool(file)
        return Gate(listener, dial, title, http=http, limits=limits, waited=self._waited, used=used)

    def _listener(self, way: Way) -> socket.socket:
        """The one that an earlier daemon left, with those who came in meanwhile, or a new one. Raises OSError."""
        name, file = self._listener_name(way), self._directory / _file(way)
        found = self._kept.take(name)
        if found is not None:
            listener = socket.socket(fileno=found)
            if not _file(way) or file.is_socket():
                listener.setblocking(False)
                return listener
            listener.close()
        listener = listen_unix(file) if _file(way) else listen_tcp(self._host, way.public_port)
        self._kept.keep(name, listener.fileno())
        return listener

    def _listener_name(self, way: Way) -> str:
        return f"file:{_file(way)}" if _file(way) else f"tcp:{self._host}:{way.public_port}"

    async def _remove(self, machine: MachineGates, way: Way) -> None:
        gate, file = machine.gates.pop(way), _file(way)
        ours = self._owners.get(file) is gate  # else the name has gone over to another machine
        if ours:
            del self._owners[file]
            (self._directory / file).unlink(missing_ok=True)
        await gate.close()
        if ours or (not file and way.protocol != "udp"):
            self._kept.drop(self._listener_name(way))

    # -- how a machine is

    def in_use(self, machine_id: str) -> bool:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        return machine is not None and any(gate.in_use for gate in machine.gates.values())

    def on_use(self, told: Callable[[str], None]) -> None:
        """See ports.Ways."""
        self._told = told

    def turn_away(self, machine_id: str, reason: str) -> None:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        for gate in machine.gates.values() if machine else ():
            gate.turn_away(reason)

    def hold(self, machine_id: str) -> None:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        if machine is None or machine.state is GateState.HELD:
            return
        machine.state, machine.held_since = GateState.HELD, time.monotonic()
        for gate in machine.gates.values():
            gate.begin_hold()

    async def drain(self, machine_id: str) -> None:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        if machine is not None:
            left = max(0.0, machine.held_since + DRAIN - time.monotonic())
            await asyncio.gather(*(gate.drain(left) for gate in machine.gates.values()))

    async def open(self, machine_id: str, guest: Guest) -> Held:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        if machine is None:
            return Held()
        if machine.guest is not guest:
            machine.guest = guest
            machine.found.begin_anew()
        machine.state = GateState.OPEN
        held = Held()
        for gate in machine.gates.values():
            held = held.and_also(gate.release())
        async with self._arranging:
            if self._machines.get(machine_id) is machine:
                await self._open_missing(machine)
        return held

    async def shut(self, machine_id: str, reason: str) -> None:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        if machine is None:
            return
        machine.state, machine.reason, machine.guest = GateState.SHUT, reason, None
        await asyncio.gather(*(gate.shut(reason) for gate in machine.gates.values()))

    async def found_port(self, machine_id: str) -> int:
        """See ports.Ways."""
        machine = self._machines.get(machine_id)
        if machine is None:
            return FoundPort().port
        if machine.state is GateState.OPEN and machine.guest is not None and machine.guest.ready:
            try:
                async with asyncio.timeout(LOOK_LIMIT):
                    return await machine.found.look(machine.guest)
            except OSError as error:
                log.debug("machine %s does not say what it listens on: %s", machine_id, error)
        return machine.found.port

    def is_free(self, public_port: int) -> bool:
        """See ports.Ways."""
        try:
            for listen in (listen_tcp, listen_udp):
                listen(self._host, public_port).close()
        except OSError:
            return False
        return True

    def sweep(self) -> int:
        """Remove the names of sockets that belong to no machine; how many. Only after all were arranged."""
        stray = [path for path in self._directory.iterdir() if path.name not in self._owners]
        for path in stray:
            path.unlink(missing_ok=True)
        for kind in ("file:", "tcp:"):
            self._kept.sweep(kind)
        return len(stray)

    def domain_problem(self, domain: str) -> str:
        """See ports.Ways."""
        ways = ((way, text) for machine in self._machines.values() for way, text in machine.problems.items())
        return next((text for way, text in ways if way.domain == domain), "") or self._unserved(domain)


def _obstacle(way: Way, error: OSError) -> str:
    """Why a way cannot be listened on, and what becomes of it."""
    if not way.public_port:
        return f"the socket of '{way.host or way.domain}' cannot be listened on: {error.strerror}"
    what = f"{way.protocol.upper()} port {way.public_port} of this host"
    if error.errno == errno.EADDRINUSE:
        return f"{what} is taken by another program; it is the machine's again as soon as that one ends"
    return f"{what} cannot be listened on: {error.strerror}"


def _is_ssh(way: Way) -> bool:
    """The way in to the guest's sshd."""
    return bool(way.public_port) and way.port == SSH_PORT and way.protocol == "tcp"


def _place(way: Way) -> tuple[str, int, str]:
    """Where people come in, whatever port it leads to."""
    return _file(way), way.public_port, way.protocol


def _file(way: Way) -> str:
    """The name of a way's socket, as the HTTPS front finds it; empty for a TCP port."""
    return socket_of(way.domain) if way.domain else way.host
