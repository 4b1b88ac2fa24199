"""Commands and files of guests."""

from __future__ import annotations

from dataclasses import dataclass

LIST_LIMIT = 10_000
"""Entries of one directory listing; more are reported as truncated."""


@dataclass(frozen=True)
class ExecRequest:
    """A command for the guest: one shell line, run by `sh -c` as user boxd in /home/boxd."""

    command: str
    tty: bool = False
    cols: int = 80
    rows: int = 24


@dataclass(frozen=True)
class ExecOutput:
    """A piece of a command's output."""

    data: bytes
    is_stderr: bool = False


@dataclass(frozen=True)
class DirEntry:
    """One entry of a directory listing; times are epoch seconds."""

    name: str
    is_dir: bool
    size_bytes: int
    permissions: str  # `ls` style, e.g. "-rw-r--r--"
    modified_at: int
    added_at: int


@dataclass(frozen=True)
class Listing:
    """A directory's entries, sorted by name; `truncated` if there are more than the cap."""

    entries: tuple[DirEntry, ...]
    truncated: bool
