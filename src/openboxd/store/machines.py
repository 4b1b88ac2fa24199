"""Rows of machines. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, false, insert, or_, select, update

from openboxd.errors import AlreadyExists, NotFound, machine_not_found
from openboxd.model import Machine, MachineStatus, Scope
from openboxd.store import domains, machine_tokens, routes, usage
from openboxd.store.rows import changed_columns, decode, decode_list, from_row, to_row
from openboxd.store.schema import images, users
from openboxd.store.schema import machines as table

_alive = table.c.status != MachineStatus.DESTROYED.value
_oldest_first = (table.c.created_at, table.c.id)


def by_id(connection: Connection, machine_id: str) -> Machine | None:
    """The machine with this id, destroyed ones included."""
    return _one(connection, table.c.id == machine_id)


def by_name(connection: Connection, name: str) -> Machine | None:
    """The machine that bears this name now."""
    return _one(connection, table.c.name == name, _alive)


def by_run(connection: Connection, run_id: str) -> Machine | None:
    """The machine whose run this is now."""
    return _one(connection, table.c.run_id == run_id, _alive) if run_id else None


def alive(connection: Connection) -> Sequence[Machine]:
    """All but the destroyed ones, oldest first."""
    return _all(connection, _alive)


def one_within(connection: Connection, scope: Scope, machine_id: str, name: str) -> Machine | None:
    """The machine with this id or name that a caller sees. One outside the scope is never read, like no machine."""
    wanted = table.c.id == machine_id if machine_id else table.c.name == name
    return _one(connection, wanted, _alive, _within(scope))


def within(connection: Connection, scope: Scope) -> Sequence[Machine]:
    """All that a caller sees, oldest first."""
    return _all(connection, _alive, _within(scope))


def ever_of(connection: Connection, owner_id: str, org_id: str) -> Sequence[Machine]:
    """All that a user owns or owned, or that belong to an organization, destroyed ones too, oldest first."""
    return _all(connection, table.c.org_id == org_id if org_id else table.c.owner_id == owner_id)


def _within(scope: Scope) -> ColumnElement[bool]:
    own = table.c.owner_id == scope.owner_id if scope.owner_id else false()
    seen = or_(own, and_(table.c.shared, table.c.org_id.in_(scope.orgs)))
    if scope.within:
        seen = and_(seen, table.c.org_id == scope.within)
    return and_(seen, table.c.id == scope.only) if scope.only else seen


def of_image(connection: Connection, digest: str) -> Sequence[Machine]:
    """Machines that need this image, oldest first."""
    return _all(connection, _alive, table.c.image == digest)


def addresses(connection: Connection) -> frozenset[str]:
    """Addresses that are taken."""
    return frozenset(connection.scalars(select(table.c.address).where(_alive)))


def add(connection: Connection, machine: Machine) -> None:
    """Raises AlreadyExists (id, name, address, mac), NotFound (its image or its owner was removed meanwhile)."""
    if by_id(connection, machine.id) is not None:
        raise AlreadyExists(f"machine id '{machine.id}' is in use; it was not changed")
    if connection.scalar(select(images.c.digest).where(images.c.digest == machine.image)) is None:
        raise NotFound(
            f"machine '{machine.name}' was not made: its image '{machine.image_name}' is not there any more"
        )
    if connection.scalar(select(users.c.id).where(users.c.id == machine.owner_id)) is None:
        raise NotFound(f"machine '{machine.name}' was not made: its owner is not there any more")
    _refuse_conflicts(connection, machine)
    connection.execute(insert(table).values(to_row(machine)))
    usage.follow(connection, machine)


def change(connection: Connection, machine_id: str, values: Mapping[str, Any]) -> Machine:
    """Set fields; the new state. Raises NotFound, AlreadyExists."""
    row = changed_columns(Machine, values)
    if values.get("id", machine_id) != machine_id:
        raise TypeError("a machine's id never changes")
    before = by_id(connection, machine_id)
    if before is None:
        raise machine_not_found(machine_id)
    if row:
        _refuse_conflicts(connection, _machine_with(before, values))
        connection.execute(update(table).where(table.c.id == machine_id).values(row))
    if values.get("status") is MachineStatus.DESTROYED:
        routes.forget_machine(connection, machine_id)
        machine_tokens.forget_machine(connection, machine_id)
        domains.forget_machine(connection, machine_id)
    after = by_id(connection, machine_id)
    assert after is not None
    if values.keys() & {"status", "size"}:
        usage.follow(connection, after)
    return after


def resume_usage(connection: Connection, machine_id: str) -> bool:
    """The machine was found as it is on record; see `usage.go_on`."""
    machine = by_id(connection, machine_id)
    return machine is not None and usage.go_on(connection, machine)


def _machine_with(machine: Machine, values: Mapping[str, Any]) -> Machine:
    return Machine(**{**vars(machine), **values})


def _refuse_conflicts(connection: Connection, machine: Machine) -> None:
    """Say which machine has the name, address or MAC; the unique indexes only say that one has."""
    if machine.status is MachineStatus.DESTROYED:
        return
    for column, value, what in (
        (table.c.name, machine.name, "machine"),
        (table.c.address, machine.address, "address"),
        (table.c.mac, machine.mac, "MAC address"),
        (table.c.ssh_port, machine.ssh_port, "SSH port"),
    ):
        if not value:
            continue
        other = _one(connection, column == value, _alive, table.c.id != machine.id)
        if other is None:
            continue
        if column is table.c.name:
            raise AlreadyExists(f"machine '{machine.name}' already exists; it was not changed")
        raise AlreadyExists(f"{what} {value} is machine '{other.name}''s; nothing was changed")


def _one(connection: Connection, *conditions: ColumnElement[bool]) -> Machine | None:
    row = connection.execute(select(table).where(*conditions)).one_or_none()
    return None if row is None else _machine(row)


def _all(connection: Connection, *conditions: ColumnElement[bool]) -> Sequence[Machine]:
    rows = connection.execute(select(table).where(*conditions).order_by(*_oldest_first))
    return tuple(_machine(row) for row in rows)


def _machine(row: Row[Any]) -> Machine:
    values = from_row(row)
    status, labels = MachineStatus(values.pop("status")), decode(values.pop("labels"))
    networks, egress = decode_list(values.pop("networks")), decode_list(values.pop("egress_allow"))
    return Machine(**values, status=status, labels=labels, networks=networks, egress_allow=egress)
