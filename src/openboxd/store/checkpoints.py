"""Rows of checkpoints. Each function works inside the caller's transaction.

Checkpoints of a machine form a tree: `parent` is the checkpoint that the machine descended from when it was saved,
and the machine's `head` the one that it descends from now. Both always name a row of this table or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update

from openboxd.errors import AlreadyExists, NotFound, machine_not_found
from openboxd.model import Checkpoint, CheckpointStatus
from openboxd.store.rows import changed_columns, from_row, to_row
from openboxd.store.schema import checkpoints as table
from openboxd.store.schema import machines

_shown = table.c.status != CheckpointStatus.REMOVING.value
_oldest_first = (table.c.created_at_ms, table.c.id)


def by_name(connection: Connection, machine_id: str, name: str) -> Checkpoint | None:
    """A machine's checkpoint; those being removed are not seen."""
    # At most one row: `begin` replaces a failed one, and the index keeps the others apart.
    found = _all(connection, table.c.machine_id == machine_id, table.c.name == name, _shown)
    return found[-1] if found else None


def of_machine(connection: Connection, machine_id: str, *, removing: bool = False) -> Sequence[Checkpoint]:
    """Oldest first; those being removed are seen on request only."""
    return _all(connection, table.c.machine_id == machine_id, *(() if removing else (_shown,)))


def removing(connection: Connection) -> Sequence[Checkpoint]:
    """Those of all machines whose bytes are on their way out."""
    return _all(connection, table.c.status == CheckpointStatus.REMOVING.value)


def begin(connection: Connection, checkpoint: Checkpoint) -> None:
    """Add a row; a failed one of the same name makes way. Raises AlreadyExists, NotFound (no such machine)."""
    name = connection.scalar(select(machines.c.name).where(machines.c.id == checkpoint.machine_id))
    if name is None:
        raise machine_not_found(checkpoint.machine_id)
    if _by_id(connection, checkpoint.id) is not None:
        raise AlreadyExists(f"checkpoint id '{checkpoint.id}' is in use; it was not changed")
    _make_way(connection, checkpoint)
    parent = _existing(connection, checkpoint.parent)
    connection.execute(insert(table).values({**to_row(checkpoint), "parent": parent}))


def change(connection: Connection, checkpoint_id: str, values: Mapping[str, Any]) -> None:
    """Set fields. Raises NotFound; AlreadyExists if the name is another's by now."""
    row = changed_columns(Checkpoint, values)
    if row.keys() & {"id", "machine_id"}:
        raise TypeError("a checkpoint's id and machine never change")
    before = _required(connection, checkpoint_id)
    after = Checkpoint(**{**vars(before), **values})
    if after.status in (CheckpointStatus.PENDING, CheckpointStatus.READY):
        _make_way(connection, after)
    if row:
        connection.execute(update(table).where(table.c.id == checkpoint_id).values(row))


def finish(connection: Connection, checkpoint: Checkpoint) -> None:
    """Write the row as given and make it its machine's head. Raises NotFound.

    The parent is the store's if the given one was removed during the save.
    """
    before = _required(connection, checkpoint.id)
    parent = _existing(connection, checkpoint.parent) or before.parent
    row = {**to_row(checkpoint), "machine_id": before.machine_id, "parent": parent}
    _make_way(connection, checkpoint)
    connection.execute(update(table).where(table.c.id == checkpoint.id).values(row))
    connection.execute(update(machines).where(machines.c.id == before.machine_id).values(head=checkpoint.id))


def forget(connection: Connection, checkpoint_id: str) -> None:
    """Delete the row; what descended from it descends from its parent instead. Harmless twice."""
    row = _by_id(connection, checkpoint_id)
    if row is None:
        return
    connection.execute(update(table).where(table.c.parent == checkpoint_id).values(parent=row.parent))
    connection.execute(update(machines).where(machines.c.head == checkpoint_id).values(head=row.parent))
    connection.execute(delete(table).where(table.c.id == checkpoint_id))


def _make_way(connection: Connection, checkpoint: Checkpoint) -> None:
    """Free the checkpoint's name: a failed one that has it goes, any other is an error."""
    others = _all(
        connection,
        table.c.machine_id == checkpoint.machine_id,
        table.c.name == checkpoint.name,
        table.c.id != checkpoint.id,
        _shown,
    )
    for other in others:
        if other.status is not CheckpointStatus.FAILED:
            machine = connection.scalar(select(machines.c.name).where(machines.c.id == checkpoint.machine_id))
            raise AlreadyExists(f"machine '{machine}' already has a checkpoint '{other.name}'; it was not changed")
        forget(connection, other.id)


def _existing(connection: Connection, checkpoint_id: str) -> str:
    """The id if it has a row, else empty: nothing ever descends from a checkpoint that is gone."""
    return checkpoint_id if _by_id(connection, checkpoint_id) is not None else ""


def _by_id(connection: Connection, checkpoint_id: str) -> Checkpoint | None:
    found = _all(connection, table.c.id == checkpoint_id)
    return found[0] if found else None


def _required(connection: Connection, checkpoint_id: str) -> Checkpoint:
    found = _by_id(connection, checkpoint_id)
    if found is None:
        raise NotFound(f"checkpoint '{checkpoint_id}' is not there any more; nothing was changed")
    return found


def _all(connection: Connection, *conditions: ColumnElement[bool]) -> Sequence[Checkpoint]:
    rows = connection.execute(select(table).where(*conditions).order_by(*_oldest_first))
    return tuple(_checkpoint(row) for row in rows)


def _checkpoint(row: Row[Any]) -> Checkpoint:
    values = from_row(row)
    status = CheckpointStatus(values.pop("status"))
    return Checkpoint(**values, status=status)
