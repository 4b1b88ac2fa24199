"""Single facts about the host, by name. Each function works inside the caller's transaction."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from openboxd.store.schema import facts as table


def value(connection: Connection, name: str) -> str:
    """A fact; empty if it was never kept."""
    return str(connection.scalar(select(table.c.value).where(table.c.name == name)) or "")


def keep(connection: Connection, name: str, content: str) -> None:
    """Set a fact."""
    connection.execute(delete(table).where(table.c.name == name))
    connection.execute(insert(table).values(name=name, value=content))
