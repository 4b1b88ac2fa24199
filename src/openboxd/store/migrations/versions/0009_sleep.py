"""Idle timers of machines, and when one that is hibernated was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    for name in ("auto_suspend_secs", "auto_hibernate_secs", "hibernated_at_ms"):
        op.add_column("machines", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))
