"""What the tables are described with."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Text, text

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# Epoch milliseconds and bytes do not fit PostgreSQL's 32-bit INTEGER. SQLite numbers rows by itself only in a
# column declared exactly INTEGER.
ROW_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def unique(name: str, *columns: str, where: str) -> Index:
    """A unique index over the rows that meet `where`."""
    return Index(name, *columns, unique=True, sqlite_where=text(where), postgresql_where=text(where))


def string(name: str) -> Column[str]:
    """Text, empty by default."""
    return Column(name, Text, nullable=False, server_default="")


def number(name: str) -> Column[int]:
    """A number, 0 by default."""
    return Column(name, BigInteger, nullable=False, server_default="0")


def required(name: str, kind: Any = Text) -> Column[Any]:
    """A column without a default."""
    return Column(name, kind, nullable=False)
