"""Ways in that people arrange: the port of the default route, named routes, exposed ports.

A change is on record first, then the gates follow; a daemon that is killed in between arranges them when it starts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from openboxd.control.ports import ControlStore
from openboxd.errors import AlreadyExists, Exhausted, InvalidArgument, NotFound, WrongState
from openboxd.model import ExposedPort, Machine, Route, RouteView
from openboxd.ports import Ways
from openboxd.worker.ways import ways_in

MAX_EXPOSED = 3
"""Exposed ports that a machine may have."""

PROTOCOLS = ("tcp", "udp", "both")

AUTO = "auto"
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED = ("default",)
"""What the command line calls the default route."""


def check_label(name: str) -> None:
    """Raises InvalidArgument unless a named route may have this name."""
    if not _LABEL.fullmatch(name):
        raise InvalidArgument(
            "a route's name has 1 to 63 characters of a-z 0-9 - and starts and ends with a letter or digit"
        )
    if name in _RESERVED:
        raise InvalidArgument(f"'{name}' is a machine's own route, which is always there; choose another name")


def check_port(port: int) -> None:
    """Raises InvalidArgument unless it is a port."""
    if not 1 <= port <= 65_535:
        raise InvalidArgument(f"{port} is not a port; ports go from 1 to 65535")


def check_routes(routes: Sequence[tuple[str, int]]) -> None:
    """Raises InvalidArgument unless a new machine may have these named routes."""
    for name, port in routes:
        check_label(name)
        check_port(port)
    if len({name for name, _ in routes}) < len(routes):
        raise InvalidArgument("two routes of a machine cannot have the same name")


def choose_public_port(ports: range, taken: Collection[int], ways: Ways) -> int:
    """The first port that no machine has and that nobody else on the host listens on. Raises Exhausted."""
    for port in ports:
        if port not in taken and ways.is_free(port):
            return port
    raise Exhausted(f"all ports from {ports[0]} to {ports[-1]} are taken on this host")


class Routes:
    """The routes and exposed ports of machines. Callers have found out who may."""

    def __init__(self, store: ControlStore, ways: Ways, ports: range) -> None:
        self._store, self._ways = store, ways
        self._ports = ports  # that machines' ports are exposed as
        self._changing = asyncio.Lock()  # a change looks, then writes

    async def arrange(self, machine: Machine) -> None:
        """Let the gates follow what is on record."""
        await self._ways.arrange(machine.id, machine.name, ways_in(self._store, machine))

    async def furnish(self, machine: Machine, routes: Sequence[tuple[str, int]]) -> None:
        """Give a new machine its ways in, and these named routes, which were checked."""
        for name, port in routes:
            await self._store.put_route(Route(machine.id, name, port))
        await self.arrange(machine)

    async def listed(self, machine: Machine) -> Sequence[RouteView]:
        """A machine's routes, the default one first, each with the port that it leads to now."""
        rows = {route.name: route for route in self._store.routes(machine.id)}
        default = rows.pop("", Route(machine.id, "", 0))
        found = default.port or await self._ways.found_port(machine.id)
        named = [RouteView(rows[name], machine, rows[name].port) for name in sorted(rows)]
        return [RouteView(default, machine, found), *named]

    async def create(self, machine: Machine, name: str, port: int) -> Route:
        """Add a named route. Raises InvalidArgument, AlreadyExists."""
        check_label(name)
        check_port(port)
        async with self._changing:
            if self._named(machine, name) is not None:
                raise AlreadyExists(f"machine '{machine.name}' already has a route '{name}'; it was not changed")
            route = Route(machine.id, name, port)
            await self._store.put_route(route)
        await self.arrange(machine)
        return route

    async def set_port(self, machine: Machine, name: str, port: str) -> None:
        """Let a route lead elsewhere, or let the default one find its port. Raises InvalidArgument, NotFound."""
        if port == AUTO and name:
            raise InvalidArgument("only a machine's own route finds its port by itself; name a port")
        number = 0 if port == AUTO else _number(port)
        async with self._changing:
            if name and self._named(machine, name) is None:
                raise route_not_found(machine, name)
            if number:
                await self._store.put_route(Route(machine.id, name, number))
            else:
                await self._store.delete_route(machine.id, "")
        await self.arrange(machine)

    async def delete(self, machine: Machine, name: str) -> None:
        """Remove a named route. Raises InvalidArgument for the default one, NotFound."""
        if not name:
            raise InvalidArgument(
                f"machine '{machine.name}' always has its own route; only named ones can be removed"
            )
        async with self._changing:
            if self._named(machine, name) is None:
                raise route_not_found(machine, name)
            await self._store.delete_route(machine.id, name)
        await self.arrange(machine)

    def _named(self, machine: Machine, name: str) -> Route | None:
        return next((route for route in self._store.routes(machine.id) if route.name == name), None)

    # -- exposed ports

    def exposed(self, machine: Machine) -> Sequence[ExposedPort]:
        """A machine's exposed ports, by port."""
        return self._store.exposed_ports(machine.id)

    async def expose(self, machine: Machine, port: int, protocol: str) -> ExposedPort:
        """Give a port a public one; if it has one, it keeps that, for this protocol from now on.

        Raises: InvalidArgument, WrongState, Exhausted."""
        check_port(port)
        if protocol not in ("", *PROTOCOLS):
            raise InvalidArgument(f"a port is exposed for 'tcp', 'udp' or 'both', not '{protocol}'")
        async with self._changing:
            present = self._store.exposed_ports(machine.id)
            known = next((exposed for exposed in present if exposed.port == port), None)
            if known is None:
                exposed = ExposedPort(machine.id, port, self._public_port(machine, len(present)), protocol or "tcp")
            else:
                exposed = replace(known, protocol=protocol or known.protocol)
            if exposed != known:
                await self._store.put_exposed_port(exposed)
        await self.arrange(machine)
        return exposed

    def _public_port(self, machine: Machine, present: int) -> int:
        """A public port for a machine that has `present` already."""
        if present >= MAX_EXPOSED:
            raise WrongState(
                f"machine '{machine.name}' has {present} of {MAX_EXPOSED} exposed ports; remove one first"
            )
        return choose_public_port(self._ports, self._store.public_ports_in_use(), self._ways)

    async def unexpose(self, machine: Machine, port: int) -> ExposedPort:
        """Take a port's public one away; what it was. Raises NotFound."""
        async with self._changing:
            known = next((exposed for exposed in self.exposed(machine) if exposed.port == port), None)
            if known is None:
                raise NotFound(f"port {port} of machine '{machine.name}' is not exposed")
            await self._store.delete_exposed_port(machine.id, port)
        await self.arrange(machine)
        return known


def route_not_found(machine: Machine, name: str) -> NotFound:
    """The wording for an unknown route of a known machine."""
    return NotFound(f"route '{name}' not found on machine '{machine.name}'")


def _number(port: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", port):
        raise InvalidArgument(f"'{port}' is not a port; name one, or 'auto'")
    check_port(int(port))
    return int(port)
