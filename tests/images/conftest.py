"""The default image, built once per recipe and kept beside the lab."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openboxd import images
from openboxd.guest import payload
from openboxd.host import files, reflink
from tests.lab import CACHE


def host_lists() -> set[str]:
    """Names of the package lists that the host's own apt holds."""
    return {file.name for file in Path("/var/lib/apt/lists").iterdir()}


@pytest.fixture(scope="session")
def built() -> Path:
    """Directory of the image; a new recipe takes the place of the old one."""
    recipe = images.debian(payload.files().values())
    place = CACHE / "images"
    final = place / recipe.digest
    if not final.exists():
        files.remove(place)
        staging = place / "staging"
        staging.mkdir(parents=True)
        before = host_lists()
        asyncio.run(images.build(staging, recipe, lambda progress: None))
        assert host_lists() == before, "the build touched apt's lists of the host"
        staging.rename(final)
    return final


@pytest.fixture
def disk(built: Path, tmp_path: Path) -> Path:
    """A copy of its root disk, to be written to."""
    copy = tmp_path / "disk.raw"
    reflink.copy_file(built / "disk.raw", copy)
    return copy
