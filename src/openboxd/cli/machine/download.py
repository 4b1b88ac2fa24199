"""Copying from a machine to this host.

What comes from a machine is not trusted: names that would leave the target directory are refused, and links are made
after everything else and never followed, as following them would write wherever the machine likes.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from openboxd.cli.machine.listing import copied_entries, is_link
from openboxd.cli.machine.many import is_executable, read_links
from openboxd.cli.machine.paths import Place, is_directory
from openboxd.cli.machine.tally import Tally
from openboxd.errors import InvalidArgument, OutcomeUnknown

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import DirEntry

PLAIN = 0o666
PROGRAM = 0o777
"""Modes of new files; the umask applies, as to every file that a program of this user makes."""

Links = list[tuple[Place, Path]]


async def download(client: Client, origin: Place, target: str, recursive: bool, tally: Tally) -> None:
    """Copy, and count in `tally` what was copied and what was not."""
    if target == "-":
        await _fetch(client, origin, sys.stdout.buffer, tally)
        return
    into = _destination(origin, target)
    if not (recursive and await is_directory(client, origin)):
        mode = PROGRAM if await is_executable(client, origin.machine, origin.path) else PLAIN
        await _download_file(client, origin, into, mode, tally)
        return
    links: Links = []
    await _download_tree(client, origin, into, links, tally)
    await _make_links(client, origin.machine, links, tally)


def _destination(origin: Place, target: str) -> Path:
    """The target itself, or the origin's name in it if it is a directory."""
    local = Path(target)
    if not local.is_dir():
        return local
    return local / origin.own_name()


async def _download_tree(client: Client, origin: Place, into: Path, links: Links, tally: Tally) -> None:
    entries = await copied_entries(client, origin, tally)
    _make_directory(into)
    for entry in entries:
        place, local = origin.child(entry.name), into / entry.name
        if is_link(entry):
            links.append((place, local))
        elif entry.is_dir:
            await _download_tree(client, place, local, links, tally)
        else:
            await _download_file(client, place, local, _mode(entry), tally)


def _make_directory(path: Path) -> None:
    """Into an existing directory a tree is merged, but never through a link that someone put there."""
    if path.is_symlink() or not path.is_dir():
        path.mkdir()


def _mode(entry: DirEntry) -> int:
    return PROGRAM if "x" in entry.permissions[1:4] else PLAIN


async def _make_links(client: Client, machine: str, links: Links, tally: Tally) -> None:
    targets = await read_links(client, machine, [place.path for place, _ in links])
    for (place, local), target in zip(links, targets, strict=True):
        if not target:
            tally.skip(str(place), "where the link points could not be read")
            continue
        with _naming(local) as temporary:
            temporary.symlink_to(target)
            temporary.rename(local)  # refused where a directory is
        tally.links += 1


async def _download_file(client: Client, origin: Place, into: Path, mode: int, tally: Tally) -> None:
    with _replacing(into, mode) as stream:
        await _fetch(client, origin, stream, tally)


@contextmanager
def _replacing(into: Path, mode: int) -> Iterator[IO[bytes]]:
    """A file beside the target that takes its name at the end, so that a broken copy leaves the old one."""
    _check_replaceable(into)
    with _naming(into) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        temporary.rename(into)


def _check_replaceable(into: Path) -> None:
    """Files and links are replaced, and nothing else: a device would be gone from this host."""
    with suppress(OSError):  # what is in the way of a look is in the way of the copy, which says so
        mode = into.lstat().st_mode
        if stat.S_ISDIR(mode) or into.is_dir():
            raise InvalidArgument(f"'{into}' is a directory; a file cannot take its place")
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise InvalidArgument(f"'{into}' is not a file, and is not replaced by one; - writes to stdout")


@contextmanager
def _naming(into: Path) -> Iterator[Path]:
    """A temporary name beside `into`, gone at the end. Errors are about `into`: nobody gave the other name."""
    temporary = into.with_name(f".boxd-{secrets.token_hex(8)}")
    try:
        yield temporary
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(into)) from None
    finally:
        temporary.unlink(missing_ok=True)


async def _fetch(client: Client, origin: Place, stream: IO[bytes], tally: Tally) -> None:
    expected, total = 0, 0
    tally.begin(str(origin))
    async for chunk in client.download(origin.machine, origin.path):
        expected = chunk.total_size or expected
        total += stream.write(chunk.data)
        tally.add(len(chunk.data), expected)
    stream.flush()
    if expected and total != expected:
        raise OutcomeUnknown(f"'{origin.path}' has {expected} bytes but {total} came; copy it again")
    tally.end()
