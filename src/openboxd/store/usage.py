"""Rows of usage: in which state and size a machine was, and what it weighed, from when until when.

A span begins and ends in the transaction that changes its machine, so none is missing and none overlaps. The end of
the open span is the last sign of life: what a daemon that was killed has not seen is not counted, unless the next one
finds the machine as it was.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from openboxd.model import Machine, UsageSpan
from openboxd.store.rows import from_row, to_row
from openboxd.store.schema import usage as table

STATES = {
    "starting": "running",
    "running": "running",
    "suspended": "standby",
    "hibernated": "hibernated",
    "destroying": "",
    "destroyed": "",
}
"""What a machine's status counts as; empty: nothing more is counted. Every other status counts as stopped."""


def now_ms() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def follow(connection: Connection, machine: Machine) -> None:
    """A machine is as told from now on: begin another span, unless it was so before."""
    state, last, now = STATES.get(machine.status.value, "stopped"), _last(connection, machine.id), now_ms()
    if last is not None and last.is_open:
        if (last.state, last.size) == (state, machine.size):
            return
        _close(connection, machine.id, now)
    if state:
        disk, checkpoints = (last.disk_bytes, last.checkpoint_bytes) if last is not None else (0, 0)
        _begin(connection, UsageSpan(machine.id, state, machine.size, disk, checkpoints, now, now))


def weigh(connection: Connection, machine_id: str, disk_bytes: int, checkpoint_bytes: int) -> None:
    """A machine's files have these sizes from now on."""
    last, now = _last(connection, machine_id), now_ms()
    if last is None or not last.is_open or (last.disk_bytes, last.checkpoint_bytes) == (disk_bytes, checkpoint_bytes):
        return
    _close(connection, machine_id, now)
    _begin(connection, UsageSpan(machine_id, last.state, last.size, disk_bytes, checkpoint_bytes, now, now))


def beat(connection: Connection) -> None:
    """The daemon lives: what was going on has gone on until now."""
    connection.execute(update(table).where(table.c.is_open, table.c.end_ms < now_ms()).values(end_ms=now_ms()))


def pause(connection: Connection) -> None:
    """A daemon starts: nobody knows what went on since the last sign of life."""
    connection.execute(update(table).where(table.c.is_open).values(is_open=False))


def go_on(connection: Connection, machine: Machine) -> bool:
    """The machine was found as told: if its last span says the same, that has gone on meanwhile, else one begins now.

    Returns:
        Whether there was anything to do.
    """
    last, state = _last(connection, machine.id), STATES.get(machine.status.value, "stopped")
    if last is not None and last.is_open:
        return False
    if last is None or (last.state, last.size) != (state, machine.size):
        follow(connection, machine)
        return bool(state)
    newest = select(table.c.id).where(table.c.machine_id == machine.id).order_by(table.c.id.desc()).limit(1)
    row = update(table).where(table.c.id == newest.scalar_subquery())
    connection.execute(row.values(is_open=True, end_ms=max(last.end_ms, now_ms())))
    return True


def spans(connection: Connection, machine_ids: Collection[str], since_ms: int, until_ms: int) -> Sequence[UsageSpan]:
    """What these machines were within a period, oldest first. The spans are whole: they may reach beyond it."""
    reaches = (table.c.start_ms < until_ms) & (table.c.is_open | (table.c.end_ms > since_ms))
    rows = connection.execute(select(table).where(table.c.machine_id.in_(machine_ids), reaches).order_by(table.c.id))
    return tuple(_span(row) for row in rows)


def weights(connection: Connection, machine_ids: Collection[str]) -> Mapping[str, int]:
    """Bytes that machines hold in the pool, as last weighed."""
    query = select(table.c.machine_id, table.c.disk_bytes + table.c.checkpoint_bytes)
    rows = connection.execute(query.where(table.c.is_open, table.c.machine_id.in_(machine_ids)))
    return {machine_id: int(count) for machine_id, count in rows}


def _last(connection: Connection, machine_id: str) -> UsageSpan | None:
    query = select(table).where(table.c.machine_id == machine_id).order_by(table.c.id.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else _span(row)


def _close(connection: Connection, machine_id: str, now: int) -> None:
    """The end never goes back, also if the host's clock did."""
    own = (table.c.machine_id == machine_id) & table.c.is_open
    connection.execute(update(table).where(own, table.c.end_ms < now).values(end_ms=now))
    connection.execute(update(table).where(own).values(is_open=False))


def _begin(connection: Connection, span: UsageSpan) -> None:
    connection.execute(insert(table).values(to_row(span)))


def _span(row: Row[Any]) -> UsageSpan:
    values = from_row(row)
    del values["id"]
    return UsageSpan(**values)
