"""Copying from a machine to this host.

What comes from a machine is not trusted: names that would leave the target directory are refused, and links are
skipped with a remark, as following them would write wherever the machine likes.
"""

from __future__ import annotations

import os
import posixpath
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from openboxd.cli.machine.paths import Place, is_directory
from openboxd.cli.output import note
from openboxd.errors import InvalidArgument, OutcomeUnknown

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import DirEntry

PLAIN = 0o666
PROGRAM = 0o777
"""Modes of new files; the umask applies, as to every file that a program of this user makes."""


async def download(client: Client, origin: Place, target: str, recursive: bool) -> tuple[int, int]:
    """Files and bytes copied."""
    if target == "-":
        return 1, await _fetch(client, origin, sys.stdout.buffer)
    into = _destination(origin, target)
    if recursive and await is_directory(client, origin):
        return await _download_tree(client, origin, into)
    return 1, await _download_file(client, origin, into, PLAIN)


def _destination(origin: Place, target: str) -> Path:
    """The target itself, or the origin's name in it if it is a directory."""
    local = Path(target)
    if not local.is_dir():
        return local
    name = posixpath.basename(origin.path.rstrip("/"))
    if name in ("", ".", ".."):
        raise InvalidArgument(f"'{origin.machine}:{origin.path}' has no name of its own; say what it is to become")
    return local / name


async def _download_tree(client: Client, origin: Place, into: Path) -> tuple[int, int]:
    listing = await client.list_dir(origin.machine, origin.path)
    if listing.truncated:
        raise InvalidArgument(f"'{origin.path}' holds more entries than one listing shows; copy an archive of it")
    _make_directory(into)
    files = total = 0
    for entry in listing.entries:
        check_name(entry.name)
        place = origin.child(entry.name)
        if entry.permissions[:1] not in ("-", "d"):
            note(f"skipped {place.machine}:{place.path}: neither a file nor a directory")
        elif entry.is_dir:
            below = await _download_tree(client, place, into / entry.name)
            files, total = files + below[0], total + below[1]
        else:
            files, total = files + 1, total + await _download_file(client, place, into / entry.name, _mode(entry))
    return files, total


def check_name(name: str) -> None:
    """A directory entry of a machine must be a plain name before it becomes one here. Raises InvalidArgument."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise InvalidArgument(f"the machine lists an entry named {name!r}, which is not copied")


def _make_directory(path: Path) -> None:
    """Into an existing directory a tree is merged, but never through a link that someone put there."""
    if path.is_symlink() or not path.is_dir():
        path.mkdir()


def _mode(entry: DirEntry) -> int:
    return PROGRAM if "x" in entry.permissions[1:4] else PLAIN


async def _download_file(client: Client, origin: Place, into: Path, mode: int) -> int:
    with _replacing(into, mode) as stream:
        return await _fetch(client, origin, stream)


@contextmanager
def _replacing(into: Path, mode: int) -> Iterator[IO[bytes]]:
    """A file beside the target that takes its name at the end, so that a broken copy leaves the old one."""
    if into.is_dir():
        raise InvalidArgument(f"'{into}' is a directory; a file cannot take its place")
    temporary = into.with_name(f".{into.name[:200]}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        temporary.rename(into)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


async def _fetch(client: Client, origin: Place, stream: IO[bytes]) -> int:
    expected, total = 0, 0
    async for chunk in client.download(origin.machine, origin.path):
        expected = chunk.total_size or expected
        total += stream.write(chunk.data)
    stream.flush()
    if expected and total != expected:
        raise OutcomeUnknown(f"'{origin.path}' has {expected} bytes but {total} came; copy it again")
    return total
