"""The host's memory."""

from __future__ import annotations

import os
from pathlib import Path


def host_memory() -> int:
    """Bytes of RAM of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def resident_bytes(pid: int) -> int:
    """Bytes of RAM that a process takes, with what it shares with others; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
