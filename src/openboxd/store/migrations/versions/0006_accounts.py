"""More than one user: organizations, sharing, quotas, usage. Who is there already is the owner of the host."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def _text(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default=default, nullable=False)


def _number(name: str, default: str | None = "0") -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default=default, nullable=False)


def _belongs(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=op.f(f"fk_{table}_{column}"), ondelete="CASCADE")


def upgrade() -> None:
    op.add_column("users", sa.Column("is_owner", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute(sa.text("UPDATE users SET is_owner = true"))
    op.add_column("machines", _text("org_id", ""))
    op.add_column("machines", sa.Column("shared", sa.Boolean(), server_default=sa.false(), nullable=False))
    _organizations()
    op.create_table(
        "quotas",
        _text("user_id"),
        _number("machines"),
        _number("vcpu"),
        _number("memory_bytes"),
        _number("pool_bytes"),
        _belongs("quotas", "user_id", "users"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_quotas")),
    )
    _usage()


def _organizations() -> None:
    op.create_table(
        "orgs",
        _text("id"),
        _text("name"),
        _number("created_at", None),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orgs")),
    )
    op.create_index("ix_orgs_name", "orgs", ["name"], unique=True)
    op.create_table(
        "org_members",
        _text("org_id"),
        _text("user_id"),
        _text("role"),
        _number("added_at", None),
        _belongs("org_members", "org_id", "orgs"),
        _belongs("org_members", "user_id", "users"),
        sa.PrimaryKeyConstraint("org_id", "user_id", name=op.f("pk_org_members")),
    )
    op.create_index("ix_org_members_user", "org_members", ["user_id"])
    op.create_table(
        "org_invites",
        _text("id"),
        _text("org_id"),
        _text("email", ""),
        _text("role"),
        _text("digest"),
        _number("created_at", None),
        _number("expires_at", None),
        _belongs("org_invites", "org_id", "orgs"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_org_invites")),
    )
    op.create_index("ix_org_invites_org", "org_invites", ["org_id"])
    op.create_index("ix_org_invites_digest", "org_invites", ["digest"], unique=True)


def _usage() -> None:
    op.create_table(
        "usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        _text("machine_id"),
        _text("state"),
        _number("vcpu"),
        _number("memory_bytes"),
        _number("disk_bytes"),
        _number("checkpoint_bytes"),
        _number("start_ms", None),
        _number("end_ms", None),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_usage_machine", "usage", ["machine_id", "end_ms"])
    op.create_index(
        "ix_usage_open",
        "usage",
        ["machine_id"],
        unique=True,
        sqlite_where=sa.text("is_open"),
        postgresql_where=sa.text("is_open"),
    )
