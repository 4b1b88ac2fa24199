"""Which boot of the host this is."""

from __future__ import annotations

from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Made by the kernel when it started; the same until the host is rebooted."""
    return BOOT_ID.read_text().strip()
