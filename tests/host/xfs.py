"""Small real filesystems for tests: an XFS image on a loop device, always unmounted again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit, OperationFailed
from openboxd.host import mount
from openboxd.model import MIB

SMALLEST = 300 * MIB  # mkfs.xfs refuses less


@contextmanager
def mounted(directory: Path, size: int = SMALLEST) -> Iterator[Path]:
    """An empty XFS of `size` bytes; skips the test where that cannot be had (not root, no loop devices)."""
    image, point = directory / "test.xfs", directory / "mnt"
    point.mkdir(parents=True)
    try:
        mount.make_xfs(image, size)
        mount.mount_image(image, point)
    except (HostUnfit, OperationFailed) as error:
        image.unlink(missing_ok=True)
        pytest.skip(f"no XFS can be mounted here: {error}")
    try:
        yield point
    finally:
        mount.unmount(point)
        image.unlink()
