"""memory.img: guest RAM as a flat, sparse file, in which what equals the parent is shared with the parent.

The file begins as a reflink clone of the parent's (if there is one). A page that differs is written, a page of
zeros becomes a hole. The parent is read piece by piece, never mapped: the working memory is a few MiB whatever
the guest's RAM, and what was read is dropped from the page cache again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from openboxd.host import holes, reflink
from openboxd.qemu.stream import PAGE, Index, Pages

MEMORY = "memory.img"
"""Its name in a capture."""

_WORDS = PAGE // 8
_GAPS = 4  # one read over gaps is faster than many reads, up to this share of pages read in vain
_DROP = 64 << 20  # bytes of the parent read before they are dropped from the page cache

Mask = npt.NDArray[np.bool_]


class IncompleteImage(Exception):
    """Some pages of the guest's RAM never came."""


class MemoryImage:
    """The image while it is being written. Takes pages as `stream.PageSink` does.

    Attributes:
        seen_pages: pages with content that came, repeated ones included.
        arrived_pages: different pages that came, zero ones included.
    """

    def __init__(self, path: Path, ram_bytes: int, parent: Path | None = None) -> None:
        """Raises OSError; then `path` may exist."""
        self.seen_pages = 0
        self.arrived_pages = 0
        self._pages = ram_bytes // PAGE
        self._parent = -1
        self._unread = 0  # bytes of the parent that were read since the last drop
        self._arrived: Mask = np.zeros(self._pages, np.bool_)
        self._touched: Mask = np.zeros(self._pages, np.bool_)  # changed here: the parent does not tell any more
        self._data: Mask = np.zeros(self._pages, np.bool_)  # not a hole
        if parent is not None and self._share(parent, path, ram_bytes):
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        else:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(path, flags, 0o600)
            os.ftruncate(self._file, ram_bytes)

    @property
    def written_pages(self) -> int:
        """Pages with content that the parent did not have."""
        return int(np.count_nonzero(self._touched & self._data))

    def put(self, index: Index, pages: Pages) -> None:
        """Content of these pages."""
        self.seen_pages += len(index)
        if (np.diff(index) > 0).all():
            self._put(index, np.ascontiguousarray(pages))
            return
        order = np.argsort(index)
        if (np.diff(index[order]) > 0).all():
            self._put(index[order], pages[order])
            return
        for row in range(len(index)):  # a page came twice: the order counts
            self._put(index[row : row + 1], np.ascontiguousarray(pages[row : row + 1]))

    def zero(self, index: Index) -> None:
        """These pages are all zeros."""
        self._arrive(index)
        for low, high in _runs(np.unique(index[self._data[index]])):
            holes.punch_hole(self._file, low * PAGE, (high - low) * PAGE)
            self._touched[low:high] = True
            self._data[low:high] = False

    def finish(self) -> None:
        """Make the content durable. Raises IncompleteImage unless every page came; OSError."""
        missing = self._pages - self.arrived_pages
        if missing:
            raise IncompleteImage(f"{missing} of {self._pages} pages of RAM never came")
        os.fsync(self._file)

    def close(self) -> None:
        """Let go of the files; harmless twice."""
        if self._parent >= 0:
            self._drop_cache()
            os.close(self._parent)
        if self._file >= 0:
            os.close(self._file)
        self._parent = self._file = -1

    def _share(self, parent: Path, path: Path, ram_bytes: int) -> bool:
        """Begin as a clone of the parent; False if that gains nothing."""
        source = os.open(parent, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if os.fstat(source).st_size != ram_bytes:
                os.close(source)
                return False
            reflink.clone_file(parent, path)
            for start, end in holes.data_ranges(source):
                self._data[start // PAGE : -(-end // PAGE)] = True
        except OSError as error:
            os.close(source)
            if error.errno in reflink.CANNOT_SHARE:
                return False
            raise
        self._parent = source
        return True

    def _put(self, index: Index, pages: Pages) -> None:
        """Pages with strictly increasing numbers: a run of numbers is also a run of rows."""
        self._arrive(index)
        changed = np.ones(len(index), np.bool_)
        if self._parent >= 0:
            known = self._data[index] & ~self._touched[index]
            if known.all():
                changed = self._differ(index, pages)
            elif known.any():
                changed[known] = self._differ(index[known], pages[known])
        if not changed.all():
            index, pages = index[changed], pages[changed]
        self._write(index, pages)

    def _differ(self, index: Index, pages: Pages) -> Mask:
        """Which of these pages are not what the parent has."""
        first, span = int(index[0]), int(index[-1] - index[0]) + 1
        if span <= _GAPS * len(index):
            theirs = self._read_parent(first, span)
            if span > len(index):
                theirs = theirs[index - first]
        else:
            theirs = np.concatenate([self._read_parent(low, high - low) for low, high in _runs(index)])
        differ: Mask = (theirs != pages.view(np.uint64)).any(axis=1)
        return differ

    def _read_parent(self, first: int, count: int) -> npt.NDArray[np.uint64]:
        """These pages of the parent, one row of words each."""
        buffer = np.empty((count, _WORDS), np.uint64)
        view, offset = buffer.view(np.uint8).reshape(-1).data, first * PAGE
        while view:
            got = os.preadv(self._parent, [view], offset)
            if not got:
                raise OSError("the parent's memory image became shorter")
            view, offset = view[got:], offset + got
            self._unread += got
        if self._unread >= _DROP:
            self._drop_cache()
        return buffer

    def _drop_cache(self) -> None:
        os.posix_fadvise(self._parent, 0, 0, os.POSIX_FADV_DONTNEED)
        self._unread = 0

    def _write(self, index: Index, pages: Pages) -> None:
        view = pages.reshape(-1).data
        at = 0
        for first, last in _runs(index):
            offset, end = first * PAGE, last * PAGE
            while offset < end:
                done = os.pwrite(self._file, view[at : at + end - offset], offset)
                at, offset = at + done, offset + done
        self._touched[index] = True
        self._data[index] = True

    def _arrive(self, index: Index) -> None:
        fresh = index[~self._arrived[index]]
        if len(fresh):
            self._arrived[fresh] = True
            self.arrived_pages += len(np.unique(fresh))


def _runs(index: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of each run of consecutive numbers in a strictly increasing array."""
    if not len(index):
        return
    cuts = np.flatnonzero(np.diff(index) != 1)
    firsts = index[np.concatenate(([0], cuts + 1))]
    lasts = index[np.concatenate((cuts, [len(index) - 1]))]
    yield from zip(firsts.tolist(), (lasts + 1).tolist(), strict=True)
