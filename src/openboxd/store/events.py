"""The event log: what was done to a machine, by whom, when, for how long, and how it ended. The newest are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from openboxd.model import Event, Outcome
from openboxd.store.rows import from_row, to_row
from openboxd.store.schema import events as table

KEPT = 1000
"""Events of one machine; older ones are forgotten."""


def add(connection: Connection, event: Event) -> None:
    """Append an event, and forget what is too much."""
    connection.execute(insert(table).values(to_row(event)))
    mine = table.c.machine_id == event.machine_id
    oldest = select(table.c.id).where(mine).order_by(table.c.id.desc()).offset(KEPT).limit(1).scalar_subquery()
    connection.execute(delete(table).where(mine, table.c.id <= oldest))


def newest(connection: Connection, machine_id: str, limit: int) -> Sequence[Event]:
    """The last `limit` events of a machine, oldest first."""
    columns = [column for column in table.c if column is not table.c.id]
    rows = connection.execute(
        select(*columns).where(table.c.machine_id == machine_id).order_by(table.c.id.desc()).limit(limit)
    )
    return tuple(_event(row) for row in rows)[::-1]


def _event(row: Row[Any]) -> Event:
    values = from_row(row)
    return Event(**values | {"outcome": Outcome(values["outcome"])})
