"""Ways in to machines: routes, exposed ports, and the port for SSH."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("machines", sa.Column("ssh_port", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index(
        "ix_machines_ssh_port",
        "machines",
        ["ssh_port"],
        unique=True,
        sqlite_where=sa.text("status <> 'destroyed' AND ssh_port <> 0"),
        postgresql_where=sa.text("status <> 'destroyed' AND ssh_port <> 0"),
    )
    op.create_table(
        "routes",
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("port", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_routes_machine_id")),
        sa.PrimaryKeyConstraint("machine_id", "name", name=op.f("pk_routes")),
    )
    op.create_table(
        "exposed_ports",
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("port", sa.BigInteger(), nullable=False),
        sa.Column("public_port", sa.BigInteger(), nullable=False),
        sa.Column("protocol", sa.Text(), server_default="tcp", nullable=False),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_exposed_ports_machine_id")),
        sa.PrimaryKeyConstraint("machine_id", "port", name=op.f("pk_exposed_ports")),
    )
    op.create_index("ix_exposed_ports_public", "exposed_ports", ["public_port"], unique=True)
