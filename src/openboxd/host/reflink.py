"""Copies of files that share their blocks, and the honest copy where the filesystem cannot share.

`FICLONE` makes two files refer to the same blocks; the filesystem counts the references and copies a block when
one side writes to it. XFS and btrfs can, ext4 cannot: `probe` finds out by doing it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from openboxd.host.holes import data_ranges

FICLONE = 0x40049409  # _IOW(0x94, 9, int), linux/fs.h

CANNOT_SHARE = frozenset({errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS})
"""What FICLONE answers on a filesystem without reflinks, or between two filesystems."""

_PIECE = 64 * 1024 * 1024  # bytes of one sendfile; small enough to stay interruptible


def clone_descriptor(source: int, target: int) -> None:
    """Make the file behind `target` share all blocks of the one behind `source`. Raises OSError."""
    fcntl.ioctl(target, FICLONE, source)


def clone_file(source: Path, target: Path) -> None:
    """Clone to a new file, 0600. Raises OSError; then `target` does not exist (unless it did before)."""
    _make(source, target, clone_descriptor)


def copy_file(source: Path, target: Path) -> None:
    """Copy to a new file, 0600, keeping holes. Raises OSError; then `target` does not exist, as above."""
    _make(source, target, _copy_sparse)


def probe(directory: Path) -> tuple[bool, str]:
    """Whether files in `directory` can share blocks, tried for real, and a clause that says why (not)."""
    stem = f".reflink-probe-{secrets.token_hex(4)}"
    one, two = directory / f"{stem}.1", directory / f"{stem}.2"
    try:
        one.write_bytes(b"boxd" * 1024)
        clone_file(one, two)
    except OSError as error:
        if error.errno in CANNOT_SHARE:
            return False, "its filesystem has no reflinks"
        return False, f"a trial clone failed ({error.strerror})"
    finally:
        one.unlink(missing_ok=True)
        two.unlink(missing_ok=True)
    return True, "its filesystem has reflinks"


def _make(source: Path, target: Path, fill: Callable[[int, int], None]) -> None:
    read = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        write = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fill(read, write)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            os.close(write)
    finally:
        os.close(read)


def _copy_sparse(source: int, target: int) -> None:
    os.ftruncate(target, os.fstat(source).st_size)
    for start, end in data_ranges(source):
        _copy_range(source, target, start, end)


def _copy_range(source: int, target: int, start: int, end: int) -> None:
    """By sendfile: unlike copy_file_range it works between all filesystems."""
    os.lseek(target, start, os.SEEK_SET)
    while start < end:
        done = os.sendfile(target, source, start, min(_PIECE, end - start))
        if not done:  # the source became shorter meanwhile
            return
        start += done
