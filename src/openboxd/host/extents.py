"""How many bytes of files are really allocated, and how many of them are shared with other files (FIEMAP)."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from openboxd.model import Usage

FS_IOC_FIEMAP = 0xC020660B  # _IOWR('f', 11, struct fiemap), linux/fiemap.h
FIEMAP_FLAG_SYNC = 0x1
FIEMAP_EXTENT_LAST = 0x1
FIEMAP_EXTENT_SHARED = 0x2000

_HEADER = struct.Struct("=QQIIII")  # start, length, flags, mapped extents, room for extents, reserved
_EXTENT = struct.Struct("=QQQQQIIII")  # logical, physical, length, 2 reserved, flags, 3 reserved
_ROOM = 512  # extents per call: 28 KiB
_TO_THE_END = 0xFFFF_FFFF_FFFF_FFFF

_BLOCK = 512  # unit of st_blocks


def file_usage(descriptor: int) -> Usage:
    """Exclusive and shared bytes of one open file. Raises OSError where the filesystem has no FIEMAP."""
    exclusive = shared = 0
    for length, flags in _extents(descriptor):
        if flags & FIEMAP_EXTENT_SHARED:
            shared += length
        else:
            exclusive += length
    return Usage(exclusive, shared)


def tree_usage(path: Path, *, reflinks: bool) -> Usage:
    """Exclusive and shared bytes of all regular files below `path`; zeros if it does not exist.

    Without reflinks nothing is ever shared and the block count says it all. Files that vanish meanwhile count
    nothing. Symbolic links are never followed.
    """
    exclusive = shared = 0
    for file in _regular_files(path):
        try:
            one = _measure(file, reflinks=reflinks)
        except FileNotFoundError:
            continue
        exclusive += one.exclusive_bytes
        shared += one.shared_bytes
    return Usage(exclusive, shared)


def _measure(file: Path, *, reflinks: bool) -> Usage:
    if not reflinks:
        return Usage(file.lstat().st_blocks * _BLOCK, 0)
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return file_usage(descriptor)
    finally:
        os.close(descriptor)


def _regular_files(path: Path) -> Iterator[Path]:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISREG(mode):
        yield path
    for directory, _, names in os.walk(path):
        for name in names:
            file = Path(directory, name)
            try:
                if stat.S_ISREG(file.lstat().st_mode):
                    yield file
            except FileNotFoundError:
                continue


def _extents(descriptor: int) -> Iterator[tuple[int, int]]:
    """(length, flags) of every extent. The first call flushes delayed allocation, or young files count nothing."""
    start, flags = 0, FIEMAP_FLAG_SYNC
    while True:
        buffer = bytearray(_HEADER.size + _ROOM * _EXTENT.size)
        _HEADER.pack_into(buffer, 0, start, _TO_THE_END - start, flags, 0, _ROOM, 0)
        fcntl.ioctl(descriptor, FS_IOC_FIEMAP, buffer)
        mapped = _HEADER.unpack_from(buffer)[3]
        if not mapped:
            return
        for index in range(mapped):
            logical, _, length, _, _, extent_flags, *_ = _EXTENT.unpack_from(
                buffer, _HEADER.size + index * _EXTENT.size
            )
            yield length, extent_flags
            if extent_flags & FIEMAP_EXTENT_LAST:
                return
        start, flags = logical + length, 0
