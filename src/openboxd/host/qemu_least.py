"""The oldest QEMU that may carry machines, and how each distribution gets one."""

from __future__ import annotations

import re
from pathlib import Path

LEAST = (9, 0)
"""Older ones lose dirty pages when they save a guest that runs in software: a capture would be quietly wrong."""

TEXT = ".".join(map(str, LEAST))

_REMEDIES = {
    "debian 12": "apt install -t bookworm-backports qemu-system-x86 (scripts/setup adds that source)",
    "ubuntu": "on Ubuntu 24.04: add-apt-repository cloud-archive:epoxy && apt install qemu-system-x86",
}


def is_too_old(version: str) -> bool:
    """Whether this version ("8.2.0") may not carry machines."""
    return tuple(map(int, re.findall(r"\d+", version)[:2])) < LEAST


def remedy(system: str | None = None) -> str:
    """What installs one that will do on a distribution such as "debian 12"; by default this one."""
    system = distribution() if system is None else system
    return next((text for name, text in _REMEDIES.items() if system.startswith(name)), "apt install qemu-system-x86")


def distribution(text: str | None = None) -> str:
    """`ID VERSION_ID` of os-release, such as "debian 12"; empty if unknown."""
    if text is None:
        path = Path("/etc/os-release")
        text = path.read_text() if path.exists() else ""
    fields = dict(re.findall(r"^(\w+)=\"?([^\"\n]*)\"?$", text, re.MULTILINE))
    return f"{fields.get('ID', '')} {fields.get('VERSION_ID', '')}".strip()
