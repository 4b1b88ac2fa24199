"""Where files lie on the device (FIEMAP): how many bytes are allocated, shared, or the same as another file's."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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

# UNKNOWN, DELALLOC, ENCODED, DATA_ENCRYPTED, NOT_ALIGNED, DATA_INLINE, DATA_TAIL: the physical address says nothing.
_NO_ADDRESS = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400
_UNWRITTEN = 0x800  # allocated, reads as zeros


class Extent(NamedTuple):
    """A stretch of a file and where it lies, in bytes."""

    logical: int
    physical: int
    length: int
    flags: int


def file_usage(descriptor: int) -> Usage:
    """Exclusive and shared bytes of one open file. Raises OSError where the filesystem has no FIEMAP."""
    exclusive = shared = 0
    for extent in _extents(descriptor):
        if extent.flags & FIEMAP_EXTENT_SHARED:
            shared += extent.length
        else:
            exclusive += extent.length
    return Usage(exclusive, shared)


def same_pieces(one: int, two: int, piece: int) -> set[int]:
    """Numbers of the pieces of `piece` bytes that two files have in common, block for block.

    Holes have no blocks and are not told. Both files must be at rest. Raises OSError without FIEMAP.
    """
    mine, theirs = _layout(one, piece), _layout(two, piece)
    return {number for number, blocks in mine.items() if blocks is not None and theirs.get(number) == blocks}


def _layout(descriptor: int, piece: int) -> dict[int, list[tuple[int, int, int]] | None]:
    """(offset - address, end, unwritten) of the stretches in each piece; None where an address means nothing.

    Neighbours on the device are one stretch: two files may divide the same blocks differently.
    """
    layout: dict[int, list[tuple[int, int, int]] | None] = {}
    for extent in _extents(descriptor):
        shift, kind = extent.logical - extent.physical, extent.flags & _UNWRITTEN
        start, end = extent.logical, extent.logical + extent.length
        while start < end:
            number = start // piece
            stop = min(end, (number + 1) * piece)
            stretches = layout.setdefault(number, [])
            if extent.flags & _NO_ADDRESS or stretches is None:
                layout[number] = None
            elif stretches and stretches[-1] == (shift, start, kind):
                stretches[-1] = (shift, stop, kind)
            else:
                stretches.append((shift, start, kind))
                stretches.append((shift, stop, kind))
            start = stop
    return layout


def allocated_bytes(path: Path) -> int:
    """Bytes that a file occupies; 0 if there is none."""
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


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


def distinct_bytes(own: Sequence[Path], beyond: Sequence[Path], *, reflinks: bool) -> int:
    """Allocated bytes of the files below `own`, each block once, without those that files below `beyond` hold, too.

    Without reflinks nothing is shared. Files that vanish meanwhile count nothing.
    """
    if not reflinks:
        return sum(tree_usage(path, reflinks=False).exclusive_bytes for path in own)
    held = _union(_stretches(beyond))
    return _length(_union([*held, *_stretches(own)])) - _length(held)


def _stretches(paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Start and end on the device of whatever the files below these paths hold."""
    found: list[tuple[int, int]] = []
    for file in (file for path in paths for file in _regular_files(path)):
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            found += [
                (extent.physical, extent.physical + extent.length)
                for extent in _extents(descriptor)
                if not extent.flags & _NO_ADDRESS
            ]
        finally:
            os.close(descriptor)
    return found


def _union(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in stretches that neither overlap nor touch, in order."""
    union: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return union


def _length(stretches: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in stretches)


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


def _extents(descriptor: int) -> Iterator[Extent]:
    """Every extent. The first call flushes delayed allocation, or young files count nothing."""
    start, flags = 0, FIEMAP_FLAG_SYNC
    while True:
        buffer = bytearray(_HEADER.size + _ROOM * _EXTENT.size)
        _HEADER.pack_into(buffer, 0, start, _TO_THE_END - start, flags, 0, _ROOM, 0)
        fcntl.ioctl(descriptor, FS_IOC_FIEMAP, buffer)
        mapped = _HEADER.unpack_from(buffer)[3]
        if not mapped:
            return
        used = memoryview(buffer)[_HEADER.size : _HEADER.size + mapped * _EXTENT.size]
        for logical, physical, length, _, _, extent_flags, *_ in _EXTENT.iter_unpack(used):
            yield Extent(logical, physical, length, extent_flags)
            if extent_flags & FIEMAP_EXTENT_LAST:
                return
        start, flags = logical + length, 0
