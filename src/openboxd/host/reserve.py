"""Room that the daemon keeps for itself: a home that is full must not keep it from starting.

A starting daemon writes a little (the database's journal and its shared memory, certificates), before it can tell
anybody what takes the space. A file of some megabytes is kept for that, and given up when nothing else is free.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from openboxd.host.files import allocate
from openboxd.model import MIB

SIZE = 16 * MIB
"""Bytes kept: several times what a start writes."""

MARGIN = 256 * MIB
"""Free bytes from which on the reserve is put back: less than that is left to what is in need."""


def keep(home: Path) -> None:
    """Have the reserve, unless space is short. Raises OSError if the filesystem does not answer."""
    file = reserve(home)
    if file.exists() and file.stat().st_size == SIZE:
        return
    file.unlink(missing_ok=True)
    space = os.statvfs(home)
    if space.f_bavail * space.f_frsize >= MARGIN:
        with contextlib.suppress(FileExistsError):
            allocate(file, SIZE)


def give_up(home: Path) -> bool:
    """Let the space be used; whether there was a reserve."""
    file = reserve(home)
    if not file.exists():
        return False
    os.truncate(file, 0)  # at once; XFS frees what was unlinked some time later
    file.unlink()
    return True


def reserve(home: Path) -> Path:
    """Where it lies."""
    return home / "reserve"
