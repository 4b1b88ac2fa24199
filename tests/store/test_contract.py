"""The SQLite store keeps the contract, and the worker's port."""

from __future__ import annotations

from openboxd.store import SqlStore
from openboxd.worker.ports import Store
from tests.contracts.store import StoreContract


class TestSqlStore(StoreContract):
    """On a fresh file for each test."""


def test_it_has_the_port_the_worker_asks_for(store: SqlStore) -> None:
    port: Store = store  # checked by mypy, and by name here
    for name in (name for name in vars(Store) if not name.startswith("_")):
        assert callable(getattr(port, name))
