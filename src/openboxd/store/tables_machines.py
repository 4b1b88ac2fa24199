"""Tables of machines: the images they are made from, and their ways in. See `schema`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, false

from openboxd.store.columns import metadata, number, required, string, unique

ALIVE = "status <> 'destroyed'"
"""Machines that still hold their name, address and MAC."""

images = Table(
    "images",
    metadata,
    Column("digest", Text, primary_key=True),
    required("name"),
    required("created_at", BigInteger),
    required("disk_bytes", BigInteger),
    string("kernel_version"),
    Index("ix_images_name", "name"),
)

# A destroyed machine keeps its row. Its owner and image may go meanwhile, so these two are no foreign keys; the
# image of a machine that is alive is kept by `images.remove`.
machines = Table(
    "machines",
    metadata,
    Column("id", Text, primary_key=True),
    required("name"),
    required("owner_id"),
    required("image"),
    string("image_name"),
    required("vcpu", BigInteger),
    required("memory_bytes", BigInteger),
    required("disk_bytes", BigInteger),
    required("address"),
    required("mac"),
    required("status"),
    required("created_at", BigInteger),
    string("status_reason"),
    Column("restart_policy", Text, nullable=False, server_default="always"),
    Column("labels", Text, nullable=False, server_default="{}"),  # JSON
    string("run_id"),
    number("boot_time_ms"),
    string("head"),
    number("last_connected_ms"),
    number("delete_at_ms"),
    number("delete_after_secs"),
    string("delete_after_cron"),
    number("auto_suspend_secs"),
    number("auto_hibernate_secs"),
    number("hibernated_at_ms"),
    Column("idle_ignore_outbound", Boolean, nullable=False, server_default=false()),
    Column("bot_protection", Text, nullable=False, server_default="off"),
    number("ssh_port"),
    string("source"),
    string("source_id"),
    string("org_id"),
    Column("shared", Boolean, nullable=False, server_default=false()),
    Column("isolated", Boolean, nullable=False, server_default=false()),
    Column("networks", Text, nullable=False, server_default="[]"),  # JSON
    Column("egress_allow", Text, nullable=False, server_default="[]"),  # JSON
    unique("ix_machines_name", "name", where=ALIVE),
    unique("ix_machines_address", "address", where=ALIVE),
    unique("ix_machines_mac", "mac", where=ALIVE),
    unique("ix_machines_ssh_port", "ssh_port", where=f"{ALIVE} AND ssh_port <> 0"),
)

# What a machine proves itself with to its own channel: a digest of the token. It dies with the machine.
machine_tokens = Table(
    "machine_tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("machine_id", Text, ForeignKey("machines.id"), nullable=False),
    required("expires_at", BigInteger),
    Index("ix_machine_tokens_machine", "machine_id", "expires_at"),
    Index("ix_machine_tokens_expiry", "expires_at"),
)

# The default route of a machine (an empty name) has a row only while its port is pinned.
routes = Table(
    "routes",
    metadata,
    Column("machine_id", Text, ForeignKey("machines.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    required("port", BigInteger),
)

exposed_ports = Table(
    "exposed_ports",
    metadata,
    Column("machine_id", Text, ForeignKey("machines.id"), primary_key=True),
    Column("port", BigInteger, primary_key=True, autoincrement=False),
    required("public_port", BigInteger),
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
