"""The tables, as SQLAlchemy describes them, in types that SQLite and PostgreSQL share.

The schema only grows: a release adds tables, columns with a default, and indexes; it never renames or drops. So an
older store is brought up by `migrations/`, and what a newer one added does no harm to whoever reads it. A change
here needs a migration and a new `REVISION`; tests compare a fresh store with one migrated step by step.

Empty text stands for "none" (`head`, `parent`, `run_id`), as in the model.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, Table, Text, false, text

REVISION = "0013"
"""The newest migration: what a fresh store is stamped with."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

ALIVE = "status <> 'destroyed'"
"""Machines that still hold their name, address and MAC."""

NAMED = "status IN ('pending', 'ready')"
"""Checkpoints that hold their name."""

# Epoch milliseconds and bytes do not fit PostgreSQL's 32-bit INTEGER. SQLite numbers rows by itself only in a
# column declared exactly INTEGER.
ROW_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def _unique(name: str, *columns: str, where: str) -> Index:
    """A unique index over the rows that meet `where`."""
    return Index(name, *columns, unique=True, sqlite_where=text(where), postgresql_where=text(where))


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _required(name: str, kind: Any = Text) -> Column[Any]:
    return Column(name, kind, nullable=False)


users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    _text("name"),
    Column("is_owner", Boolean, nullable=False, server_default=false()),
)

orgs = Table(
    "orgs",
    metadata,
    Column("id", Text, primary_key=True),
    _required("name"),
    _required("created_at", BigInteger),
    Index("ix_orgs_name", "name", unique=True),
)

org_members = Table(
    "org_members",
    metadata,
    Column("org_id", Text, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    _required("role"),
    _required("added_at", BigInteger),
    Index("ix_org_members_user", "user_id"),
)

org_invites = Table(
    "org_invites",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, ForeignKey("orgs.id", ondelete="CASCADE"), nullable=False),
    _text("email"),
    _required("role"),
    # A digest of the token that accepts it. The token itself is nowhere.
    _required("digest"),
    _required("created_at", BigInteger),
    _required("expires_at", BigInteger),
    Index("ix_org_invites_org", "org_id"),
    Index("ix_org_invites_digest", "digest", unique=True),
)

quotas = Table(
    "quotas",
    metadata,
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    _number("machines"),
    _number("vcpu"),
    _number("memory_bytes"),
    _number("pool_bytes"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    _text("name"),
    _text("prefix"),
    # A digest of the key. The key itself is nowhere.
    _required("digest"),
    _required("created_at", BigInteger),
    _number("last_used_at"),
    _number("expires_at"),
    Index("ix_api_keys_digest", "digest", unique=True),
    Index("ix_api_keys_user", "user_id"),
)

# What an API key was exchanged for: a digest of the token, good while its key is. A token goes with its key.
tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("key_id", Text, ForeignKey("api_keys.id", ondelete="CASCADE"), nullable=False),
    _required("expires_at", BigInteger),
    Index("ix_tokens_key", "key_id"),
    Index("ix_tokens_expiry", "expires_at"),
)

ssh_keys = Table(
    "ssh_keys",
    metadata,
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    _required("public_key"),
    _text("device_id"),
    _text("label"),
    _unique("ix_ssh_keys_device", "user_id", "device_id", where="device_id <> ''"),
)

images = Table(
    "images",
    metadata,
    Column("digest", Text, primary_key=True),
    _required("name"),
    _required("created_at", BigInteger),
    _required("disk_bytes", BigInteger),
    _text("kernel_version"),
    Index("ix_images_name", "name"),
)

# A destroyed machine keeps its row. Its owner and image may go meanwhile, so these two are no foreign keys; the
# image of a machine that is alive is kept by `images.remove`.
machines = Table(
    "machines",
    metadata,
    Column("id", Text, primary_key=True),
    _required("name"),
    _required("owner_id"),
    _required("image"),
    _text("image_name"),
    _required("vcpu", BigInteger),
    _required("memory_bytes", BigInteger),
    _required("disk_bytes", BigInteger),
    _required("address"),
    _required("mac"),
    _required("status"),
    _required("created_at", BigInteger),
    _text("status_reason"),
    Column("restart_policy", Text, nullable=False, server_default="always"),
    Column("labels", Text, nullable=False, server_default="{}"),  # JSON
    _text("run_id"),
    _number("boot_time_ms"),
    _text("head"),
    _number("last_connected_ms"),
    _number("delete_at_ms"),
    _number("delete_after_secs"),
    _text("delete_after_cron"),
    _number("auto_suspend_secs"),
    _number("auto_hibernate_secs"),
    _number("hibernated_at_ms"),
    Column("idle_ignore_outbound", Boolean, nullable=False, server_default=false()),
    Column("bot_protection", Text, nullable=False, server_default="off"),
    _number("ssh_port"),
    _text("source"),
    _text("source_id"),
    _text("org_id"),
    Column("shared", Boolean, nullable=False, server_default=false()),
    Column("isolated", Boolean, nullable=False, server_default=false()),
    Column("networks", Text, nullable=False, server_default="[]"),  # JSON
    Column("egress_allow", Text, nullable=False, server_default="[]"),  # JSON
    _unique("ix_machines_name", "name", where=ALIVE),
    _unique("ix_machines_address", "address", where=ALIVE),
    _unique("ix_machines_mac", "mac", where=ALIVE),
    _unique("ix_machines_ssh_port", "ssh_port", where=f"{ALIVE} AND ssh_port <> 0"),
)

# What a machine proves itself with to its own channel: a digest of the token. It dies with the machine.
machine_tokens = Table(
    "machine_tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("machine_id", Text, ForeignKey("machines.id"), nullable=False),
    _required("expires_at", BigInteger),
    Index("ix_machine_tokens_machine", "machine_id", "expires_at"),
    Index("ix_machine_tokens_expiry", "expires_at"),
)

# The default route of a machine (an empty name) has a row only while its port is pinned.
routes = Table(
    "routes",
    metadata,
    Column("machine_id", Text, ForeignKey("machines.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    _required("port", BigInteger),
)

exposed_ports = Table(
    "exposed_ports",
    metadata,
    Column("machine_id", Text, ForeignKey("machines.id"), primary_key=True),
    Column("port", BigInteger, primary_key=True, autoincrement=False),
    _required("public_port", BigInteger),
    Column("protocol", Text, nullable=False, server_default="tcp"),
    Index("ix_exposed_ports_public", "public_port", unique=True),
)

custom_domains = Table(
    "custom_domains",
    metadata,
    Column("domain", Text, primary_key=True),
    Column("machine_id", Text, ForeignKey("machines.id"), nullable=False),
    Index("ix_custom_domains_machine", "machine_id"),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("id", Text, primary_key=True),
    Column("machine_id", Text, ForeignKey("machines.id"), nullable=False),
    _required("name"),
    _required("status"),
    _required("created_at_ms", BigInteger),
    _text("created_by"),
    _text("parent"),
    _number("vcpu"),
    _number("memory_bytes"),
    _number("pause_us"),
    _number("duration_ms"),
    _number("written_bytes"),
    _text("failure_reason"),
    _unique("ix_checkpoints_name", "machine_id", "name", where=NAMED),
    Index("ix_checkpoints_machine", "machine_id"),
    Index("ix_checkpoints_status", "status"),
)

# Snapshots outlive the machines they were saved from, and machines those they are made from: no foreign keys. The
# image of one is kept by `images.remove`.
snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Text, primary_key=True),
    _required("owner_id"),
    _required("name"),
    _required("created_at_ms", BigInteger),
    _number("version"),
    _text("saving"),
    _number("tried_at_ms"),
    _number("updated_at_ms"),
    _text("source_id"),
    _text("source_name"),
    _text("image"),
    _text("image_name"),
    _number("vcpu"),
    _number("memory_bytes"),
    _number("disk_bytes"),
    Column("labels", Text, nullable=False, server_default="{}"),  # JSON
    Column("idle_ignore_outbound", Boolean, nullable=False, server_default=false()),
    _number("pause_us"),
    _number("duration_ms"),
    _number("failed_version"),
    _text("failure_reason"),
    Column("isolated", Boolean, nullable=False, server_default=false()),
    Column("networks", Text, nullable=False, server_default="[]"),  # JSON
    _number("auto_suspend_secs"),
    _number("auto_hibernate_secs"),
    Index("ix_snapshots_name", "owner_id", "name", unique=True),
)

# An operation may be journalled before its machine has a row, so `machine_id` is no foreign key.
operations = Table(
    "operations",
    metadata,
    Column("id", ROW_NUMBER, primary_key=True, autoincrement=True),
    _required("machine_id"),
    _required("kind"),
    Column("detail", Text, nullable=False, server_default="{}"),  # JSON
    _text("step"),
    _required("started_at_ms", BigInteger),
    sqlite_autoincrement=True,  # an id is never given out twice
)

# Single facts about the host, such as the boot under which the daemon last ran.
facts = Table("facts", metadata, Column("name", Text, primary_key=True), _required("value"))

# Events outlive their machine's name, and may be written for one that is being made: no foreign key.
events = Table(
    "events",
    metadata,
    Column("id", ROW_NUMBER, primary_key=True, autoincrement=True),
    _required("machine_id"),
    _required("at_ms", BigInteger),
    _text("actor"),
    _required("operation"),
    _text("detail"),
    _required("outcome"),
    _number("duration_ms"),
    _text("error"),
    Index("ix_events_machine", "machine_id", "id"),
    sqlite_autoincrement=True,
)

# What machines used; kept when they are gone. One row of a machine is open: its end moves on with every sign of life.
usage = Table(
    "usage",
    metadata,
    Column("id", ROW_NUMBER, primary_key=True, autoincrement=True),
    _required("machine_id"),
    _required("state"),
    _number("vcpu"),
    _number("memory_bytes"),
    _number("disk_bytes"),
    _number("checkpoint_bytes"),
    _required("start_ms", BigInteger),
    _required("end_ms", BigInteger),
    Column("is_open", Boolean, nullable=False),
    Index("ix_usage_machine", "machine_id", "end_ms"),
    _unique("ix_usage_open", "machine_id", where="is_open"),
    sqlite_autoincrement=True,
)
