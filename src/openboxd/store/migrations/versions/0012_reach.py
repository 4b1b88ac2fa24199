"""What machines may reach: each other by networks, the world by a list."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("machines", sa.Column("networks", sa.Text(), server_default="[]", nullable=False))
    op.add_column("machines", sa.Column("egress_allow", sa.Text(), server_default="[]", nullable=False))
