"""Timers and kept settings of machines, and single facts about the host."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for name in ("last_connected_ms", "delete_at_ms", "delete_after_secs"):
        op.add_column("machines", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("machines", sa.Column("delete_after_cron", sa.Text(), server_default="", nullable=False))
    op.add_column(
        "machines", sa.Column("idle_ignore_outbound", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.add_column("machines", sa.Column("bot_protection", sa.Text(), server_default="off", nullable=False))
    op.create_table(
        "facts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
    )
