"""Tables of captures that somebody owns. See `schema`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, false

from openboxd.store.columns import metadata, number, required, string, unique

NAMED = "status IN ('pending', 'ready')"
"""Checkpoints that hold their name."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("id", Text, primary_key=True),
    Column("machine_id", Text, ForeignKey("machines.id"), nullable=False),
    required("name"),
    required("status"),
    required("created_at_ms", BigInteger),
    string("created_by"),
    string("parent"),
    number("vcpu"),
    number("memory_bytes"),
    number("pause_us"),
    number("duration_ms"),
    number("written_bytes"),
    string("failure_reason"),
    unique("ix_checkpoints_name", "machine_id", "name", where=NAMED),
    Index("ix_checkpoints_machine", "machine_id"),
    Index("ix_checkpoints_status", "status"),
)

# Snapshots outlive the machines they were saved from, and machines those they are made from: no foreign keys. The
# image of one is kept by `images.remove`.
snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Text, primary_key=True),
    required("owner_id"),
    required("name"),
    required("created_at_ms", BigInteger),
    number("version"),
    string("saving"),
    number("tried_at_ms"),
    number("updated_at_ms"),
    string("source_id"),
    string("source_name"),
    string("image"),
    string("image_name"),
    number("vcpu"),
    number("memory_bytes"),
    number("disk_bytes"),
    Column("labels", Text, nullable=False, server_default="{}"),  # JSON
    Column("idle_ignore_outbound", Boolean, nullable=False, server_default=false()),
    number("pause_us"),
    number("duration_ms"),
    number("failed_version"),
    string("failure_reason"),
    Column("isolated", Boolean, nullable=False, server_default=false()),
    Column("networks", Text, nullable=False, server_default="[]"),  # JSON
    number("auto_suspend_secs"),
    number("auto_hibernate_secs"),
    Index("ix_snapshots_name", "owner_id", "name", unique=True),
)
