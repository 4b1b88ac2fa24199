"""The first schema: accounts, images, machines, checkpoints and the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "images",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("disk_bytes", sa.BigInteger(), nullable=False),
        sa.Column("kernel_version", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_images")),
    )
    op.create_index("ix_images_name", "images", ["name"], unique=False)
    op.create_table(
        "machines",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("image", sa.Text(), nullable=False),
        sa.Column("image_name", sa.Text(), server_default="", nullable=False),
        sa.Column("vcpu", sa.BigInteger(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("disk_bytes", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("status_reason", sa.Text(), server_default="", nullable=False),
        sa.Column("restart_policy", sa.Text(), server_default="always", nullable=False),
        sa.Column("labels", sa.Text(), server_default="{}", nullable=False),
        sa.Column("run_id", sa.Text(), server_default="", nullable=False),
        sa.Column("boot_time_ms", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("head", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machines")),
    )
    op.create_index(
        "ix_machines_address",
        "machines",
        ["address"],
        unique=True,
        sqlite_where=sa.text("status <> 'destroyed'"),
        postgresql_where=sa.text("status <> 'destroyed'"),
    )
    op.create_index(
        "ix_machines_mac",
        "machines",
        ["mac"],
        unique=True,
        sqlite_where=sa.text("status <> 'destroyed'"),
        postgresql_where=sa.text("status <> 'destroyed'"),
    )
    op.create_index(
        "ix_machines_name",
        "machines",
        ["name"],
        unique=True,
        sqlite_where=sa.text("status <> 'destroyed'"),
        postgresql_where=sa.text("status <> 'destroyed'"),
    )
    op.create_table(
        "operations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), server_default="{}", nullable=False),
        sa.Column("step", sa.Text(), server_default="", nullable=False),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operations")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("prefix", sa.Text(), server_default="", nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("expires_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.create_index("ix_api_keys_digest", "api_keys", ["digest"], unique=True)
    op.create_index("ix_api_keys_user", "api_keys", ["user_id"], unique=False)
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), server_default="", nullable=False),
        sa.Column("parent", sa.Text(), server_default="", nullable=False),
        sa.Column("vcpu", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("pause_us", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("written_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("failure_reason", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_checkpoints_machine_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoints")),
    )
    op.create_index("ix_checkpoints_machine", "checkpoints", ["machine_id"], unique=False)
    op.create_index(
        "ix_checkpoints_name",
        "checkpoints",
        ["machine_id", "name"],
        unique=True,
        sqlite_where=sa.text("status IN ('pending', 'ready')"),
        postgresql_where=sa.text("status IN ('pending', 'ready')"),
    )
    op.create_index("ix_checkpoints_status", "checkpoints", ["status"], unique=False)
    op.create_table(
        "ssh_keys",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("device_id", sa.Text(), server_default="", nullable=False),
        sa.Column("label", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_ssh_keys_user_id")),
        sa.PrimaryKeyConstraint("user_id", "fingerprint", name=op.f("pk_ssh_keys")),
    )
    op.create_index(
        "ix_ssh_keys_device",
        "ssh_keys",
        ["user_id", "device_id"],
        unique=True,
        sqlite_where=sa.text("device_id <> ''"),
        postgresql_where=sa.text("device_id <> ''"),
    )
