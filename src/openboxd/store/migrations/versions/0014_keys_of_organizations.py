"""API keys that reach no further than one organization."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("org_id", sa.Text(), server_default="", nullable=False))
    op.add_column("api_keys", sa.Column("kind", sa.Text(), server_default="member", nullable=False))
