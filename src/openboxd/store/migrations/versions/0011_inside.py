"""What machines are to boxd from inside: isolated or not, and the tokens they speak with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("machines", sa.Column("isolated", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_table(
        "machine_tokens",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_machine_tokens_machine_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_machine_tokens")),
    )
    op.create_index("ix_machine_tokens_machine", "machine_tokens", ["machine_id", "expires_at"])
    op.create_index("ix_machine_tokens_expiry", "machine_tokens", ["expires_at"])
