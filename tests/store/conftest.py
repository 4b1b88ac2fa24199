"""A store of its own for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.store import SqlStore, open_store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "home" / "boxd.db"


@pytest.fixture
def store(database: Path) -> Iterator[SqlStore]:
    opened = open_store(database)
    yield opened
    opened.close()
