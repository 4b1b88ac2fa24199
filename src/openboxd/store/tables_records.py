"""Tables of what went on and goes on: the journal, facts, events, usage. See `schema`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Text

from openboxd.store.columns import ROW_NUMBER, metadata, number, required, string, unique

# An operation may be journalled before its machine has a row, so `machine_id` is no foreign key.
operations = Table(
    "operations",
    metadata,
    Column("id", ROW_NUMBER, primary_key=True, autoincrement=True),
    required("machine_id"),
    required("kind"),
    Column("detail", Text, nullable=False, server_default="{}"),  # JSON
    string("step"),
    required("started_at_ms", BigInteger),
    sqlite_autoincrement=True,  # an id is never given out twice
)

# Single facts about the host, such as the boot under which the daemon last ran.
facts = Table("facts", metadata, Column("name", Text, primary_key=True), required("value"))

# Events outlive their machine's name, and may be written for one that is being made: no foreign key.
events = Table(
    "events",
    metadata,
    Column("id", ROW_NUMBER, primary_key=True, autoincrement=True),
    required("machine_id"),
    required("at_ms", BigInteger),
    string("actor"),
    required("operation"),
    string("detail"),
    required("outcome"),
    number("duration_ms"),
    string("error"),
    Index("ix_events_machine", "machine_id", "id"),
    sqlite_autoincrement=True,
)

# What machines used; kept when they are gone. One row of a machine is open: its end moves on with every sign of life.
usage = Table(
    "usage",
    metadata,
    Column("id", ROW_NUMBER, primary_key=True, autoincrement=True),
    required("machine_id"),
    required("state"),
    number("vcpu"),
    number("memory_bytes"),
    number("disk_bytes"),
    number("checkpoint_bytes"),
    required("start_ms", BigInteger),
    required("end_ms", BigInteger),
    Column("is_open", Boolean, nullable=False),
    Index("ix_usage_machine", "machine_id", "end_ms"),
    unique("ix_usage_open", "machine_id", where="is_open"),
    sqlite_autoincrement=True,
)
