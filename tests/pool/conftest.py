"""Real pools: one XFS for the whole test run, emptied between tests, and plain directories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.pool import DirectoryPool
from tests.host.xfs import mounted


@pytest.fixture(scope="session")
def xfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted(tmp_path_factory.mktemp("xfs")) as point:
        yield point


@pytest.fixture
def reflink_pool(xfs: Path, request: pytest.FixtureRequest) -> DirectoryPool:
    pool = DirectoryPool(xfs / "pool", "reflink", "it is XFS")
    request.addfinalizer(lambda: pool.discard(xfs / "pool/images"))
    for area in ("images", "machines", "snapshots"):
        pool.discard(pool.root / area)
    pool.recover()
    return DirectoryPool(xfs / "pool", "reflink", "it is XFS")


@pytest.fixture
def copy_pool(tmp_path: Path) -> DirectoryPool:
    return DirectoryPool(tmp_path / "pool", "copy", "it is told so")
