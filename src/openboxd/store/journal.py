"""The journal: one row per operation under way, so that a restarted daemon can finish or take back each of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, update

from openboxd.model import Operation
from openboxd.store.rows import decode, encode
from openboxd.store.schema import operations as table


def begin(connection: Connection, machine_id: str, kind: str, detail: str, started_at_ms: int) -> int:
    """Add an operation; its id. `detail` is encoded JSON."""
    row = {"machine_id": machine_id, "kind": kind, "detail": detail, "step": "", "started_at_ms": started_at_ms}
    key = connection.execute(insert(table).values(row)).inserted_primary_key
    assert key is not None
    return int(key[0])


def step(connection: Connection, operation_id: int, name: str, detail: str) -> None:
    """Record the step and merge the encoded `detail`. Nothing happens once the operation has ended.

    A late step tells recovery nothing that it needs, and must not turn a success into an error.
    """
    known = connection.scalar(select(table.c.detail).where(table.c.id == operation_id))
    if known is None:
        return
    merged = encode({**decode(known), **decode(detail)})
    connection.execute(update(table).where(table.c.id == operation_id).values(step=name, detail=merged))


def end(connection: Connection, operation_id: int) -> None:
    """Forget an operation. Harmless twice."""
    connection.execute(delete(table).where(table.c.id == operation_id))


def under_way(connection: Connection) -> Sequence[Operation]:
    """Operations begun and not ended, oldest first."""
    rows = connection.execute(select(table).order_by(table.c.id))
    return tuple(
        Operation(row.id, row.machine_id, row.kind, decode(row.detail), row.step, row.started_at_ms) for row in rows
    )
