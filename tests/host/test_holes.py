"""What reading holes costs the host, and how it is given back."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.host import holes
from openboxd.model import MIB
from tests.host.resident import cached, mapped
from tests.host.xfs import mounted

SIZE = 128 * MIB
PAGE = mmap.PAGESIZE
DATA = {0: 3, 5: 1, 700: 20, SIZE // PAGE - 1: 1}
"""Where the file has data: first page and number of pages. Between the first two is a hole not worth the while."""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A sparse file on a filesystem as pools have it."""
    with mounted(tmp_path) as point:
        path = point / "sparse"
        with path.open("wb") as out:
            out.truncate(SIZE)
            for page, count in DATA.items():
                out.seek(page * PAGE)
                out.write(b"d" * count * PAGE)
            os.fsync(out.fileno())
        yield path


def forget(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        holes.forget_holes(descriptor)
    finally:
        os.close(descriptor)


def test_zeros_that_were_read_of_holes_are_given_back_and_nothing_else(file: Path) -> None:
    content, blocks = file.read_bytes(), file.stat().st_blocks
    with file.open("rb") as opened:
        view = mmap.mmap(opened.fileno(), SIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    with view:
        view[1000 * PAGE : 1001 * PAGE] = b"w" * PAGE  # written where the file has a hole, as guests do
        assert view[SIZE // 2 :: PAGE].count(b"\0") > 1000
        assert sum(view[::PAGE]) > 0
        assert mapped(os.getpid(), file.name).resident > SIZE * 0.9
        assert cached(file) > SIZE * 0.9
        forget(file)
        assert mapped(os.getpid(), file.name).resident < SIZE / 10
        assert 24 * PAGE < cached(file) < SIZE / 10
        assert view[1000 * PAGE : 1001 * PAGE] == b"w" * PAGE
        assert view[: 1000 * PAGE] == content[: 1000 * PAGE]
        assert view[1001 * PAGE :] == content[1001 * PAGE :]
    assert file.read_bytes() == content
    assert file.stat().st_blocks == blocks


def test_files_without_holes_and_empty_ones_are_left_alone(tmp_path: Path) -> None:
    for content in (b"", b"x" * MIB):
        path = tmp_path / "file"
        path.write_bytes(content)
        forget(path)
        assert path.read_bytes() == content
