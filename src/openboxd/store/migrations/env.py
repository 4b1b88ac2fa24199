"""Run by Alembic: migrate over the connection that `openboxd.store.upgrade` hands in, in its transaction."""

from __future__ import annotations

from alembic import context

from openboxd.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
)
context.run_migrations()
