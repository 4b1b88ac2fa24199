"""The SQLite store keeps the contract, and has the ports of the worker and of control."""

from __future__ import annotations

from openboxd.control.ports import ControlStore
from openboxd.store import SqlStore
from tests.contracts.store import StoreContract


class TestSqlStore(StoreContract):
    """On a fresh file for each test."""


def test_it_has_the_ports_that_worker_and_control_ask_for(store: SqlStore) -> None:
    port: ControlStore = store  # mypy compares signatures, this test the names
    asked_for = {name for base in ControlStore.__mro__ for name in vars(base) if not name.startswith("_")}
    assert {"add_machine", "image_named", "open_operations"} <= asked_for
    assert {name for name in asked_for if not callable(getattr(port, name, None))} == set()
