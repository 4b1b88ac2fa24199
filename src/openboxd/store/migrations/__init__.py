"""Alembic's migrations, run when a store of an earlier release is opened."""
