"""Rows of domains of people's own. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from openboxd.model import CustomDomain
from openboxd.store.rows import to_row
from openboxd.store.schema import custom_domains


def listed(connection: Connection, machine_id: str) -> Sequence[CustomDomain]:
    """Those of one machine, or of all if no id is given, by name."""
    query = select(custom_domains).order_by(custom_domains.c.domain)
    if machine_id:
        query = query.where(custom_domains.c.machine_id == machine_id)
    return tuple(CustomDomain(**row._mapping) for row in connection.execute(query))


def add(connection: Connection, domain: CustomDomain) -> None:
    """Raises AlreadyExists (by the key) if the domain leads to a machine."""
    connection.execute(insert(custom_domains).values(to_row(domain)))


def remove(connection: Connection, domain: str) -> None:
    """Harmless twice."""
    connection.execute(delete(custom_domains).where(custom_domains.c.domain == domain))


def forget_machine(connection: Connection, machine_id: str) -> None:
    """The machine is destroyed: its domains are free for others."""
    connection.execute(delete(custom_domains).where(custom_domains.c.machine_id == machine_id))
