"""Rows of the tokens that machines speak with. Each function works inside the caller's transaction."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from openboxd.store.schema import machine_tokens as table

KEPT = 100
"""Tokens of one machine; the oldest goes when there are more."""


def owner_of(connection: Connection, digest: str) -> tuple[str, int] | None:
    """The machine of the token with this digest, and when the token expires."""
    query = select(table.c.machine_id, table.c.expires_at).where(table.c.digest == digest)
    row = connection.execute(query).one_or_none()
    return None if row is None else (str(row[0]), int(row[1]))


def add(connection: Connection, machine_id: str, digest: str, expires_at: int, now: int) -> None:
    """Record a token and forget those that expired by `now`, and the machine's oldest beyond `KEPT`."""
    connection.execute(delete(table).where(table.c.expires_at <= now))
    newest = select(table.c.digest).where(table.c.machine_id == machine_id).order_by(table.c.expires_at.desc())
    for old in connection.scalars(newest.offset(KEPT - 1)).all():
        connection.execute(delete(table).where(table.c.digest == old))
    connection.execute(insert(table).values(digest=digest, machine_id=machine_id, expires_at=expires_at))


def forget_machine(connection: Connection, machine_id: str) -> None:
    """The machine is gone, and with it what it spoke with. Harmless twice."""
    connection.execute(delete(table).where(table.c.machine_id == machine_id))
