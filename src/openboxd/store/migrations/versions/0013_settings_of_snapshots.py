"""Settings of the captured machine that machines made from a snapshot begin with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("snapshots", sa.Column("isolated", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("snapshots", sa.Column("networks", sa.Text(), server_default="[]", nullable=False))
    for name in ("auto_suspend_secs", "auto_hibernate_secs"):
        op.add_column("snapshots", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))
