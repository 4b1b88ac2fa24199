"""The tables, as SQLAlchemy describes them, in types that SQLite and PostgreSQL share.

The schema only grows: a release adds tables, columns with a default, and indexes; it never renames or drops. So an
older store is brought up by `migrations/`, and what a newer one added does no harm to whoever reads it. A change
here needs a migration and a new `REVISION`; tests compare a fresh store with one migrated step by step.

Empty text stands for "none" (`head`, `parent`, `run_id`), as in the model.
"""

from __future__ import annotations

from openboxd.store.columns import metadata
from openboxd.store.tables_captures import checkpoints, snapshots
from openboxd.store.tables_machines import custom_domains, exposed_ports, images, machine_tokens, machines, routes
from openboxd.store.tables_people import api_keys, org_invites, org_members, orgs, quotas, ssh_keys, tokens, users
from openboxd.store.tables_records import events, facts, operations, usage

__all__ = [
    "REVISION",
    "api_keys",
    "checkpoints",
    "custom_domains",
    "events",
    "exposed_ports",
    "facts",
    "images",
    "machine_tokens",
    "machines",
    "metadata",
    "operations",
    "org_invites",
    "org_members",
    "orgs",
    "quotas",
    "routes",
    "snapshots",
    "ssh_keys",
    "tokens",
    "usage",
    "users",
]

REVISION = "0014"
"""The newest migration: what a fresh store is stamped with."""
