"""What boxd remembers: accounts, images, machines, checkpoints and the journal, in one SQLite file."""

from openboxd.store.store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
