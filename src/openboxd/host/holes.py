"""Holes of sparse files: where the data is, how to make a hole where data was, and what holes cost in memory."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator

_KEEP_SIZE = 0x01  # linux/falloc.h
_PUNCH_HOLE = 0x02
_PIECE = 16 << 20  # bytes; whoever reads the file waits for a piece, which takes about a millisecond
_WORTH = 64 << 10  # bytes; smaller holes are most of the number, and hardly any of the memory

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_libc.fallocate.restype = ctypes.c_int


def punch_hole(descriptor: int, offset: int, length: int) -> None:
    """Give the blocks of a range back; it reads as zeros afterwards and the size stays. Raises OSError."""
    while _libc.fallocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, offset, length):
        error = ctypes.get_errno()
        if error != errno.EINTR:
            raise OSError(error, os.strerror(error))


def data_ranges(descriptor: int, offset: int = 0) -> Iterator[tuple[int, int]]:
    """(start, end) of each stretch that may hold data, from an offset on, in order; everything else is holes.

    A filesystem that does not know reports the whole file as data."""
    size = os.fstat(descriptor).st_size
    while offset < size:
        try:
            start = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only holes are left
                return
            raise
        offset = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, offset


def forget_holes(descriptor: int, begin: int = 0, end: int | None = None) -> None:
    """Give back the host's memory that readers of a file's holes have filled with zeros, mapped or not.

    `begin` and `end` are offsets in bytes; without them it is the whole file. For files that nobody writes. A hole
    that is punched into a hole changes nothing, but XFS and ext4 drop its cached pages, also from the processes that
    have it mapped; what these have changed in private mappings stays theirs. btrfs finds nothing to do and keeps the
    pages until the host needs them.

    Raises OSError. Blocks.
    """
    for low, high in _holes(descriptor, begin, os.fstat(descriptor).st_size if end is None else end):
        if high - low >= _WORTH:
            for offset in range(low, high, _PIECE):
                punch_hole(descriptor, offset, min(_PIECE, high - offset))


def _holes(descriptor: int, at: int, end: int) -> Iterator[tuple[int, int]]:
    for start, after in data_ranges(descriptor, at):
        if start >= end:
            break
        if start > at:
            yield at, start
        at = after
    if at < end:
        yield at, end
