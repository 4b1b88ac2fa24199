"""Digests find what changed, say where, and are taken over from a parent without being read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.host import digests, extents, reflink
from openboxd.host.digests import PIECE
from openboxd.host.holes import punch_hole
from tests.host.xfs import mounted


def sparse(path: Path, pieces: int = 6, data: tuple[int, ...] = (0, 2, 3, 5)) -> Path:
    """A file of `pieces` pieces and a half, of which some have data and the rest are holes."""
    with path.open("wb") as file:
        for number in data:
            file.seek(number * PIECE)
            file.write(bytes([number + 1]) * PIECE)
        file.truncate(pieces * PIECE + PIECE // 2)
    return path


def write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def damages(directory: Path, name: str = "disk.raw") -> list[tuple[int, int, str]]:
    described = digests.load(directory)[name]
    return [(d.start, d.end, d.text) for d in digests.damages(directory, name, described)]


def test_a_file_that_did_not_change_is_whole_and_one_that_did_is_told_with_the_place(tmp_path: Path) -> None:
    disk = sparse(tmp_path / "disk.raw")
    digests.take(tmp_path, ["disk.raw"])
    assert damages(tmp_path) == []
    write(disk, 3 * PIECE + 17, b"x")
    write(disk, 2 * PIECE, b"x")
    write(disk, 6 * PIECE + 5, b"x")
    assert damages(tmp_path) == [
        (2 * PIECE, 4 * PIECE, "is not what it was"),
        (6 * PIECE, 6 * PIECE + PIECE // 2, "is not what it was"),
    ]


def test_zeros_and_holes_are_the_same_content(tmp_path: Path) -> None:
    disk = sparse(tmp_path / "disk.raw")
    write(disk, 2 * PIECE, bytes(PIECE))
    digests.take(tmp_path, ["disk.raw"])
    write(disk, PIECE, bytes(PIECE))
    with disk.open("r+b") as file:
        punch_hole(file.fileno(), 2 * PIECE, PIECE)
    described = digests.load(tmp_path)["disk.raw"]
    assert digests.lost(tmp_path, "disk.raw", described) is None
    assert damages(tmp_path) == []


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda path: path.unlink(), "cannot be opened (No such file or directory)"),
        (lambda path: os.truncate(path, PIECE), f"has {PIECE} bytes instead of {6 * PIECE + PIECE // 2}"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), "cannot be opened"),
    ],
    ids=["missing", "cut", "a link"],
)
def test_what_is_missing_or_cut_is_told_without_reading(tmp_path: Path, spoil, text: str) -> None:
    disk = sparse(tmp_path / "disk.raw")
    digests.take(tmp_path, ["disk.raw"])
    spoil(disk)
    found = digests.lost(tmp_path, "disk.raw", digests.load(tmp_path)["disk.raw"])
    assert found is not None and found.text.startswith(text)
    assert damages(tmp_path) == [(0, 0, found.text)]


def test_data_that_became_a_hole_is_told_without_reading(tmp_path: Path) -> None:
    disk = sparse(tmp_path / "disk.raw")
    digests.take(tmp_path, ["disk.raw"])
    with disk.open("r+b") as file:
        punch_hole(file.fileno(), 5 * PIECE, PIECE)
    found = digests.lost(tmp_path, "disk.raw", digests.load(tmp_path)["disk.raw"])
    assert found is not None and (found.start, found.end, found.text) == (5 * PIECE, 6 * PIECE, "lost its data")


def test_damaged_digests_are_refused(tmp_path: Path) -> None:
    sparse(tmp_path / "disk.raw")
    digests.take(tmp_path, ["disk.raw"])
    seal = digests.seal(tmp_path)
    assert (tmp_path / digests.NAME).stat().st_mode & 0o777 == 0o600
    content = (tmp_path / digests.NAME).read_text()
    (tmp_path / digests.NAME).write_text(content.replace("0", "1", 1))
    with pytest.raises(ValueError, match="is not what it was"):
        digests.load(tmp_path, seal)


@pytest.fixture(scope="module")
def xfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted(tmp_path_factory.mktemp("xfs") / "fs") as point:
        yield point


def test_a_clone_takes_over_what_it_shares_and_reads_only_the_rest(
    xfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, child = xfs / "parent", xfs / "child"
    parent.mkdir()
    child.mkdir()
    sparse(parent / "disk.raw")
    digests.take(parent, ["disk.raw"])
    reflink.clone_file(parent / "disk.raw", child / "disk.raw")
    write(child / "disk.raw", 3 * PIECE + 4096, b"y" * 4096)
    write(child / "disk.raw", 1 * PIECE, b"z")
    read: list[int] = []
    really = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(at // PIECE) or really(fd, size, at))
    digests.take(child, ["disk.raw"], parent)
    assert sorted(read) == [1, 3]
    monkeypatch.undo()
    taken = digests.load(child)
    digests.take(child, ["disk.raw"])
    assert digests.load(child) == taken, "what was taken over is what reading tells"
    assert damages(child) == []


def test_pieces_are_the_same_however_their_blocks_are_divided(xfs: Path) -> None:
    one, two = sparse(xfs / "one"), xfs / "two"
    reflink.clone_file(one, two)
    write(two, 2 * PIECE + 8192, b"n" * 4096)  # divides the extent of two
    with one.open("rb") as first, two.open("rb") as second:
        assert extents.same_pieces(first.fileno(), second.fileno(), PIECE) == {0, 3, 5}
