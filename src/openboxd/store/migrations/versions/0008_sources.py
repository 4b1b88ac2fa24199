"""What a machine is a copy of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for name in ("source", "source_id"):
        op.add_column("machines", sa.Column(name, sa.Text(), server_default="", nullable=False))
