"""The default image, as the lab's daemon built it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openboxd.host import reflink
from tests.lab import Lab


@pytest.fixture(scope="session")
def built(lab: Lab) -> Path:
    """Directory of the image."""
    return lab.image_dir


@pytest.fixture
def disk(built: Path, tmp_path: Path) -> Path:
    """A copy of its root disk, to be written to."""
    copy = tmp_path / "disk.raw"
    reflink.copy_file(built / "disk.raw", copy)
    return copy
