"""Domains of people's own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "custom_domains",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_custom_domains_machine_id")),
        sa.PrimaryKeyConstraint("domain", name=op.f("pk_custom_domains")),
    )
    op.create_index("ix_custom_domains_machine", "custom_domains", ["machine_id"])
