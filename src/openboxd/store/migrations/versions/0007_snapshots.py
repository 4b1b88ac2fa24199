"""Snapshots: captures owned by accounts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    def text(name: str) -> sa.Column[str]:
        return sa.Column(name, sa.Text(), server_default="", nullable=False)

    def number(name: str) -> sa.Column[int]:
        return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)

    op.create_table(
        "snapshots",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        number("version"),
        text("saving"),
        number("tried_at_ms"),
        number("updated_at_ms"),
        text("source_id"),
        text("source_name"),
        text("image"),
        text("image_name"),
        number("vcpu"),
        number("memory_bytes"),
        number("disk_bytes"),
        sa.Column("labels", sa.Text(), server_default="{}", nullable=False),
        sa.Column("idle_ignore_outbound", sa.Boolean(), server_default=sa.false(), nullable=False),
        number("pause_us"),
        number("duration_ms"),
        number("failed_version"),
        text("failure_reason"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshots")),
    )
    op.create_index("ix_snapshots_name", "snapshots", ["owner_id", "name"], unique=True)
