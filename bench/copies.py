"""What machines cost the host: real memory and real bytes of the pool."""

from __future__ import annotations

import os
from pathlib import Path

from bench.place import Place
from openboxd.model import MIB


def memory_mib(place: Place) -> float:
    """MiB of all QEMUs of the place together: pages that several share count once in all."""
    total = 0
    for pid in place.daemon.qemus():
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def used_mib(place: Place) -> float:
    """MiB of the pool's filesystem that are in use."""
    os.sync()
    space = os.statvfs(place.daemon.home)
    return (space.f_blocks - space.f_bfree) * space.f_frsize / MIB
