"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from openboxd import __version__
from openboxd.model import GIB
from tests.lab import run


def describe() -> Mapping[str, object]:
    """Host, kernel, QEMU, boxd, in words; never the host's name."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.partition(": ")[2] for line in info.splitlines() if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "boxd": __version__,
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / GIB, 1),
        "kernel": platform.release(),
        "qemu": run("qemu-system-x86_64", "--version").splitlines()[0],
        "accelerator": "tcg",
        "load_before": os.getloadavg()[0],
    }
