"""The host's memory."""

from __future__ import annotations

import os


def host_memory() -> int:
    """Bytes of RAM of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
