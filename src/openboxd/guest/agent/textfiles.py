"""Small text files of the system: read whole, replaced whole."""

from __future__ import annotations

import os

MOST = 4096
"""Bytes that are read of one."""


def read(path: str) -> str:
    """The text; empty if there is no such file."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(MOST)
    except OSError:
        return ""


def replace(path: str, text: str, mode: int) -> None:
    """Put a file in the place of what is there: a reader finds either whole. Raises OSError.

    Not synced, which takes its time on a busy host: what a loss of power takes is put right at the next epoch.
    """
    fd = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(fd, mode)
        os.write(fd, text.encode("ascii", "replace"))
    finally:
        os.close(fd)
    os.rename(f"{path}.new", path)
