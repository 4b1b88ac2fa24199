"""The file that a loaded run has its RAM mapped from: the memory image of a capture, which may be unlinked by now.

A migration reads all of RAM. What it reads of the image's holes becomes pages of zeros, in the host's page cache and
in QEMU: in the end as much as the guest has RAM, however little of it the guest uses. So they are given back a
stretch behind the reader, which makes reading them fast, too: the zeros of a stretch take the place of those before.
Plain memory that was never touched costs nothing when it is read, so a run that has booted has no such file and
needs none of this.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from openboxd.host import holes
from openboxd.qemu.memory_image import MEMORY
from openboxd.qemu.stream import PAGE, Index, Pages, PageSink

_UNLINKED = " (deleted)"
_STRETCH = 64 << 20  # bytes; smaller ones are not faster


class Trail:
    """Passes pages on to another sink, and gives back the holes that QEMU has read of its RAM to send them.

    Args:
        sink: where the pages go.
        pid: the QEMU that sends them.
    """

    def __init__(self, sink: PageSink, pid: int) -> None:
        self._sink = sink
        self._files = _opened(pid)
        self._at = 0

    def put(self, index: Index, pages: Pages) -> None:
        """See `stream.PageSink`."""
        self._sink.put(index, pages)
        self._pass(index)

    def zero(self, index: Index) -> None:
        """See `stream.PageSink`."""
        self._sink.zero(index)
        self._pass(index)

    def close(self) -> None:
        """Let go of the files; harmless twice."""
        while self._files:
            os.close(self._files.pop())

    def _pass(self, index: Index) -> None:
        """The first pass goes through RAM from its start to its end, later ones read nothing new."""
        offset = int(index[-1]) * PAGE
        if offset >= self._at + _STRETCH:
            for descriptor in self._files:
                with suppress(OSError):
                    holes.forget_holes(descriptor, self._at, offset)
            self._at = offset


def forget_holes(pid: int) -> None:
    """Give back what a save has read of the holes in this QEMU's RAM; the guest reads zeros there as before.

    Where that cannot be done the pages stay until the host needs their memory for something else. Blocks.
    """
    for descriptor in _opened(pid):
        try:
            holes.forget_holes(descriptor)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def _opened(pid: int) -> list[int]:
    """Descriptors, for the caller to close, of the memory images that this process has open: one or none."""
    found: list[int] = []
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            if file.readlink().name.removesuffix(_UNLINKED) == MEMORY:
                found.append(os.open(file, os.O_RDWR | os.O_CLOEXEC))
    return found
