"""What reading all of a loaded guest's RAM costs the host while a save does it."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np

from openboxd.model import MIB
from openboxd.qemu.memory_image import MEMORY
from openboxd.qemu.ram_file import Trail
from openboxd.qemu.stream import PAGE, Index, Pages
from tests.host.resident import cached
from tests.host.xfs import mounted

SIZE = 384 * MIB
DATA = 200 * MIB
"""Where the file has a page of data."""

BATCH = 2 * MIB


class Sink:
    """Counts."""

    def __init__(self) -> None:
        self.zeros = self.pages = 0

    def put(self, index: Index, pages: Pages) -> None:
        self.pages += len(pages)

    def zero(self, index: Index) -> None:
        self.zeros += len(index)


def test_what_was_read_of_holes_is_given_back_behind_the_reader(tmp_path: Path) -> None:
    with mounted(tmp_path) as point:
        path, sink, most = point / MEMORY, Sink(), 0
        with path.open("w+b") as file:
            file.truncate(SIZE)
            os.pwrite(file.fileno(), b"d" * PAGE, DATA)
            os.fsync(file.fileno())
            view = mmap.mmap(file.fileno(), SIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
            trail = Trail(sink, os.getpid())
            for begin in range(0, SIZE, BATCH):
                index = np.arange(begin // PAGE, (begin + BATCH) // PAGE)
                if begin == DATA:
                    trail.put(index[:1], np.frombuffer(view[DATA : DATA + PAGE], np.uint8).reshape(1, PAGE))
                    index = index[1:]
                assert all(view[int(number) * PAGE] == 0 for number in index)
                trail.zero(index)
                most = max(most, cached(path))
            trail.close()
            assert view[DATA : DATA + PAGE] == b"d" * PAGE
            view.close()
        print(f"cached at most: {most >> 20} MiB of {SIZE >> 20}")
        assert (sink.zeros, sink.pages) == (SIZE // PAGE - 1, 1)
        assert 16 * MIB < most < SIZE / 2
