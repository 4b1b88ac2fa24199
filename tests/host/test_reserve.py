"""The reserve that lets a daemon start in a full home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.host import reserve
from tests.lab import run


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 24 MiB."""
    run("mount", "-t", "tmpfs", "-o", "size=24M", "boxd-test", tmp_path)
    try:
        yield tmp_path
    finally:
        run("umount", tmp_path)


def allocated(home: Path) -> int:
    return reserve.reserve(home).stat().st_blocks * 512


def test_it_is_real_private_and_made_once(tmp_path: Path) -> None:
    reserve.keep(tmp_path)
    assert allocated(tmp_path) >= reserve.SIZE
    assert reserve.reserve(tmp_path).stat().st_mode & 0o777 == 0o600
    before = reserve.reserve(tmp_path).stat().st_ino
    reserve.keep(tmp_path)
    assert reserve.reserve(tmp_path).stat().st_ino == before


def test_given_up_in_a_full_home_and_put_back_when_there_is_room(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reserve, "MARGIN", reserve.SIZE)
    reserve.keep(small)
    with (small / "filler").open("wb") as file, pytest.raises(OSError, match="space"):
        while True:
            os.write(file.fileno(), bytes(1 << 20))
    assert reserve.give_up(small)
    (small / "journal").write_bytes(bytes(1 << 20))
    reserve.keep(small)
    assert not reserve.reserve(small).exists(), "what is short is left to what is in need"
    assert not reserve.give_up(small)
    (small / "filler").unlink()
    reserve.keep(small)
    assert allocated(small) >= reserve.SIZE
