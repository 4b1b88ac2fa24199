"""Rows of snapshots. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update

from openboxd.errors import AlreadyExists, Busy, snapshot_not_found
from openboxd.model import MachineStatus, Snapshot
from openboxd.store import machines
from openboxd.store.rows import changed_columns, decode, decode_list, from_row, to_row
from openboxd.store.schema import machines as made_machines
from openboxd.store.schema import snapshots as table

_oldest_first = (table.c.created_at_ms, table.c.id)
_kept = or_(table.c.version > 0, table.c.saving != "")


def by_id(connection: Connection, snapshot_id: str) -> Snapshot | None:
    """The snapshot with this id."""
    return _one(connection, table.c.id == snapshot_id)


def by_name(connection: Connection, owner_id: str, name: str) -> Snapshot | None:
    """An account's snapshot of this name."""
    return _one(connection, table.c.owner_id == owner_id, table.c.name == name)


def all_snapshots(connection: Connection) -> Sequence[Snapshot]:
    """Of all accounts, oldest first."""
    return _all(connection)


def of_image(connection: Connection, digest: str) -> Sequence[Snapshot]:
    """Those whose machines need this image, oldest first."""
    return _all(connection, table.c.image == digest, _kept)


def machines_made(connection: Connection, snapshot_id: str) -> int:
    """How many machines were made from it, or are being made; one that never ran and is gone was not."""
    made = or_(made_machines.c.status != MachineStatus.DESTROYED.value, made_machines.c.boot_time_ms > 0)
    query = select(func.count()).select_from(made_machines).where(made_machines.c.source_id == snapshot_id, made)
    return connection.scalar(query) or 0


def begin(connection: Connection, wanted: Snapshot) -> Snapshot:
    """Note that a version is being saved, of a new snapshot unless the owner has one of this name; the row.

    One of which no version was ever saved makes way for the new one. Raises Busy.
    """
    found = by_name(connection, wanted.owner_id, wanted.name)
    if found is not None:
        _must_rest(connection, found)
    if found is not None and found.version:
        changed = {"saving": wanted.saving, "tried_at_ms": wanted.tried_at_ms}
        change(connection, found.id, changed)
        return Snapshot(**{**vars(found), **changed})
    if found is not None:
        forget(connection, found.id)
    add(connection, wanted)
    return wanted


def add(connection: Connection, snapshot: Snapshot) -> None:
    """Raises AlreadyExists (id, name)."""
    taken = by_id(connection, snapshot.id) or by_name(connection, snapshot.owner_id, snapshot.name)
    if taken is not None:
        raise AlreadyExists(f"snapshot '{taken.name}' exists already; it was not changed")
    connection.execute(insert(table).values(to_row(snapshot)))


def change(connection: Connection, snapshot_id: str, values: Mapping[str, Any]) -> None:
    """Set fields. Raises NotFound."""
    row = changed_columns(Snapshot, values)
    if row.keys() & {"id", "owner_id", "name"}:
        raise TypeError("a snapshot's id, owner and name never change")
    if connection.execute(update(table).where(table.c.id == snapshot_id).values(row)).rowcount == 0:
        raise snapshot_not_found()


def forget(connection: Connection, snapshot_id: str) -> None:
    """Delete the row. Harmless twice. Raises Busy while a version is being saved."""
    found = by_id(connection, snapshot_id)
    if found is not None:
        _must_rest(connection, found)
    connection.execute(delete(table).where(table.c.id == snapshot_id))


def _must_rest(connection: Connection, snapshot: Snapshot) -> None:
    if snapshot.saving:
        machine = machines.by_id(connection, snapshot.saving)
        source = f" from machine '{machine.name}'" if machine else ""
        raise Busy(f"snapshot '{snapshot.name}' is being saved{source}; try again when that has ended")


def _one(connection: Connection, *conditions: ColumnElement[bool]) -> Snapshot | None:
    row = connection.execute(select(table).where(*conditions)).one_or_none()
    return None if row is None else _snapshot(row)


def _all(connection: Connection, *conditions: ColumnElement[bool]) -> Sequence[Snapshot]:
    rows = connection.execute(select(table).where(*conditions).order_by(*_oldest_first))
    return tuple(_snapshot(row) for row in rows)


def _snapshot(row: Row[Any]) -> Snapshot:
    values = from_row(row)
    labels, networks = decode(values["labels"]), decode_list(values["networks"])
    return Snapshot(**{**values, "labels": labels, "networks": networks})
