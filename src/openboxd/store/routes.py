"""Rows of routes and exposed ports. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from openboxd.model import ExposedPort, MachineStatus, Route
from openboxd.store.rows import to_row
from openboxd.store.schema import exposed_ports, machines, routes


def of_machine(connection: Connection, machine_id: str) -> Sequence[Route]:
    """A machine's routes that are on record, by name; the default one is only while its port is pinned."""
    rows = connection.execute(select(routes).where(routes.c.machine_id == machine_id).order_by(routes.c.name))
    return tuple(Route(**row._mapping) for row in rows)


def put(connection: Connection, route: Route) -> None:
    """Add a route, or give it another port."""
    remove(connection, route.machine_id, route.name)
    connection.execute(insert(routes).values(to_row(route)))


def remove(connection: Connection, machine_id: str, name: str) -> None:
    """Harmless twice."""
    connection.execute(delete(routes).where(routes.c.machine_id == machine_id, routes.c.name == name))


def exposed_of(connection: Connection, machine_id: str) -> Sequence[ExposedPort]:
    """A machine's exposed ports, by port."""
    wanted = exposed_ports.c.machine_id == machine_id
    rows = connection.execute(select(exposed_ports).where(wanted).order_by(exposed_ports.c.port))
    return tuple(ExposedPort(**row._mapping) for row in rows)


def expose(connection: Connection, exposed: ExposedPort) -> None:
    """Raises AlreadyExists (by the unique index) if the public port is taken."""
    unexpose(connection, exposed.machine_id, exposed.port)
    connection.execute(insert(exposed_ports).values(to_row(exposed)))


def unexpose(connection: Connection, machine_id: str, port: int) -> None:
    """Harmless twice."""
    table = exposed_ports
    connection.execute(delete(table).where(table.c.machine_id == machine_id, table.c.port == port))


def public_ports(connection: Connection) -> frozenset[int]:
    """Ports of the host that machines have: exposed ones and those for SSH."""
    alive = machines.c.status != MachineStatus.DESTROYED.value
    ssh = connection.scalars(select(machines.c.ssh_port).where(alive, machines.c.ssh_port != 0))
    return frozenset(connection.scalars(select(exposed_ports.c.public_port))) | frozenset(ssh)


def forget_machine(connection: Connection, machine_id: str) -> None:
    """The machine is destroyed: its ports are free for others."""
    connection.execute(delete(routes).where(routes.c.machine_id == machine_id))
    connection.execute(delete(exposed_ports).where(exposed_ports.c.machine_id == machine_id))
