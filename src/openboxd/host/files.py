"""Files that are whole or absent, also after a power cut: write, sync, rename, sync the directory."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_regular(path: Path) -> int:
    """A descriptor to read a regular file; whatever else stands at the name is not opened and holds nobody up.

    Raises:
        OSError: it cannot be opened, or is no regular file (EINVAL).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read_regular(path: Path) -> bytes:
    """The content of a regular file; see `open_regular`."""
    with open(open_regular(path), "rb") as file:
        return file.read()


def sync_directory(path: Path) -> None:
    """Make names in a directory durable."""
    _sync(path, os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    _sync(path, os.O_NOFOLLOW)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Make all regular files and directories below `path`, and itself, durable."""
    for directory, _, names in os.walk(path, topdown=False):
        for name in names:
            file = Path(directory, name)
            if stat.S_ISREG(file.lstat().st_mode):
                sync_file(file)
        sync_directory(Path(directory))


def make_directory(path: Path, mode: int = 0o700) -> None:
    """Make a directory and its missing parents, each durable under its name; harmless if it exists.

    An existing directory keeps its mode."""
    if path.is_dir():
        return
    make_directory(path.parent, mode)
    try:
        path.mkdir(mode)
    except FileExistsError:
        return
    sync_directory(path.parent)


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file so that a reader, now or after a crash, sees the old content or all of the new."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        try:
            os.fchmod(descriptor, mode)  # whatever the umask is
            with os.fdopen(descriptor, "wb", closefd=False) as stream:
                stream.write(data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove a file, link or tree; harmless if it does not exist."""
    try:
        is_directory = stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if is_directory:
        shutil.rmtree(path, ignore_errors=False)
    else:
        path.unlink(missing_ok=True)


def allocate(path: Path, size: int) -> None:
    """Make a new file of `size` bytes, 0600, all of them reserved on the filesystem; nothing is left on failure."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size)
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    sync_directory(path.parent)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, waiting for whoever holds it; the kernel lets go if the process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_full(error: OSError) -> bool:
    """Whether an error means that the filesystem, or the quota on it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
