"""Real pools keep the promises of `ports.Pool`."""

from __future__ import annotations

import pytest

from openboxd.pool import DirectoryPool
from tests.contracts.pool import PoolContract


class TestReflinkPool(PoolContract):
    @pytest.fixture
    def pool(self, reflink_pool: DirectoryPool) -> DirectoryPool:
        return reflink_pool


class TestCopyPool(PoolContract):
    @pytest.fixture
    def pool(self, copy_pool: DirectoryPool) -> DirectoryPool:
        return copy_pool
