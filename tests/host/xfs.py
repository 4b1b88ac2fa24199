"""Small real filesystems for tests: an XFS image on a loop device, always unmounted again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openboxd.host import mount
from openboxd.model import MIB

SMALLEST = 300 * MIB  # mkfs.xfs refuses less


@contextmanager
def mounted(directory: Path, size: int = SMALLEST) -> Iterator[Path]:
    """An empty XFS of `size` bytes. Only root can mount: the test of another user is skipped, root's must succeed."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    image, point = directory / "test.xfs", directory / "mnt"
    point.mkdir(parents=True)
    mount.make_xfs(image, size)
    mount.mount_image(image, point)
    try:
        yield point
    finally:
        mount.unmount(point)
        image.unlink()
