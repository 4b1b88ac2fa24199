"""Files that are whole or absent."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openboxd.host import files


def test_a_written_file_has_its_content_and_mode_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        files.write_atomic(tmp_path / "key", b"secret")
    finally:
        os.umask(old)
    assert (tmp_path / "key").read_bytes() == b"secret"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["key"]


def test_a_failed_write_keeps_the_old_content_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_atomic(tmp_path / "key", b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full") as caught:
        files.write_atomic(tmp_path / "key", b"new")
    assert files.is_full(caught.value)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("key", b"old")]


def test_directories_are_private_and_made_with_their_parents(tmp_path: Path) -> None:
    files.make_directory(tmp_path / "a/b/c")
    files.make_directory(tmp_path / "a/b/c")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_removing_takes_files_links_trees_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/file").touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    for name in ("tree", "link", "missing"):
        files.remove(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept/file").exists()


def test_allocated_bytes_are_really_reserved(tmp_path: Path) -> None:
    files.allocate(tmp_path / "image", 3 << 20)
    assert (tmp_path / "image").stat().st_blocks * 512 >= 3 << 20
    with pytest.raises(FileExistsError):
        files.allocate(tmp_path / "image", 1)


def test_an_allocation_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space|too large"):
        files.allocate(tmp_path / "image", 1 << 60)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_keeps_other_processes_out_until_it_is_let_go(tmp_path: Path) -> None:
    program = (
        "import fcntl, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n"
        "try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); print('in')\nexcept BlockingIOError: print('out')\n"
    )

    def other() -> str:
        run = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "lock"], capture_output=True, text=True, check=True
        )
        return run.stdout.strip()

    with files.lock(tmp_path / "lock"):
        assert other() == "out"
    assert other() == "in"
