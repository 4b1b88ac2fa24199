"""The file that a loaded run has its RAM mapped from: the memory image of a capture, which may be unlinked by now.

A migration reads all of RAM. What it reads of the image's holes becomes pages of zeros, in the host's page cache and
in QEMU: in the end as much as the guest has RAM, however little of it the guest uses. Plain memory that was never
touched costs nothing when it is read, so a run that has booted has no such file and needs none of this.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from openboxd.host import holes
from openboxd.qemu.take import MEMORY

_UNLINKED = " (deleted)"


def forget_holes(pid: int) -> None:
    """Give back what a save has read of the holes in this QEMU's RAM; the guest reads zeros there as before.

    Where that cannot be done the pages stay until the host needs their memory for something else. Blocks.
    """
    with suppress(OSError):
        for opened in Path(f"/proc/{pid}/fd").iterdir():
            if opened.readlink().name.removesuffix(_UNLINKED) == MEMORY:
                _forget(opened)


def _forget(opened: Path) -> None:
    descriptor = os.open(opened, os.O_RDWR | os.O_CLOEXEC)
    try:
        holes.forget_holes(descriptor)
    finally:
        os.close(descriptor)
