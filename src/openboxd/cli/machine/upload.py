"""Copying from this host into a machine."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from openboxd.cli.machine.many import make_executable, make_links
from openboxd.cli.machine.paths import Place, ensure_directory, is_directory
from openboxd.cli.machine.tally import Tally
from openboxd.errors import InvalidArgument
from openboxd.model import MIB

if TYPE_CHECKING:
    from openboxd.client.client import Client

SPOOL = 64 * MIB
"""Bytes of stdin kept in memory before they go to a temporary file: an upload names its size first."""

KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True)
class Entry:
    """Something to be copied: where it is, and its path below the target."""

    local: Path
    below: str
    mode: int


async def upload(client: Client, source: str, goal: Place, recursive: bool, tally: Tally) -> None:
    """Copy, and count in `tally` what was copied and what was not."""
    into = await is_directory(client, goal)
    if source == "-":
        if into:
            raise InvalidArgument("stdin has no name; say which file it is to become")
        await _upload_stdin(client, goal, tally)
        return
    entries = list(_walk(source, recursive))
    target = goal.child(_name(source)) if into else goal
    programs: list[str] = []
    links: list[tuple[str, str]] = []
    for entry in entries:
        place = target.child(entry.below) if entry.below else target
        if stat.S_ISDIR(entry.mode):
            await ensure_directory(client, place)
        elif stat.S_ISREG(entry.mode):
            await _upload_file(client, entry.local, place, tally)
            programs += [place.path] if entry.mode & 0o100 else []
        elif stat.S_ISLNK(entry.mode):
            links.append((str(entry.local.readlink()), place.path))
        else:
            tally.skip(str(entry.local), f"it is {kind(entry.mode)}")
    await _finish(client, goal.machine, programs, links, tally)


async def _finish(
    client: Client, machine: str, programs: list[str], links: list[tuple[str, str]], tally: Tally
) -> None:
    """What the file calls do not carry. Links come last, so that no file is written through one of them."""
    for path in await make_executable(client, machine, programs):
        tally.skip(str(Place(path, machine)), "it was copied but could not be made executable")
    failed = await make_links(client, machine, links)
    tally.links += len(links) - len(failed)
    for path in failed:
        tally.skip(str(Place(path, machine)), "the link could not be made there")


def kind(mode: int) -> str:
    """What a thing is that is neither file, directory nor link."""
    return next((name for is_it, name in KINDS if is_it(mode)), "of an unknown kind")


def _walk(source: str, recursive: bool) -> Iterator[Entry]:
    """What to copy, parents first. A link that is named itself is followed, links below are entries."""
    root = Path(source)
    mode = root.stat().st_mode
    if stat.S_ISDIR(mode):
        if not recursive:
            raise InvalidArgument(f"'{source}' is a directory; copy it with -r")
        yield Entry(root, "", mode)
        yield from _below(root, "")
    elif stat.S_ISREG(mode):
        yield Entry(root, "", mode)
    else:
        # Opening a pipe without a writer would wait for ever, and a device may have no end.
        raise InvalidArgument(f"'{source}' is {kind(mode)}, and only files are copied; what comes from it goes by -")


def _below(directory: Path, prefix: str) -> Iterator[Entry]:
    for child in sorted(directory.iterdir()):
        mode = child.lstat().st_mode
        yield Entry(child, f"{prefix}{child.name}", mode)
        if stat.S_ISDIR(mode):
            yield from _below(child, f"{prefix}{child.name}/")


def _name(source: str) -> str:
    """The name that a source keeps inside a directory; `.` is called what it is called."""
    return Path(source).resolve().name if source.rstrip("/").endswith(".") else Path(source).name


async def _upload_file(client: Client, local: Path, target: Place, tally: Tally) -> None:
    # Without waiting: what was a file a moment ago may be a pipe now.
    descriptor = os.open(local, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        await _send(client, stream, os.fstat(descriptor).st_size, target, tally, str(local))


async def _upload_stdin(client: Client, target: Place, tally: Tally) -> None:
    with tempfile.SpooledTemporaryFile(max_size=SPOOL) as spool:
        while piece := await asyncio.to_thread(sys.stdin.buffer.read, MIB):
            try:
                spool.write(piece)
            except FileNotFoundError:  # in a machine: there are no temporary files where this runs
                text = f"stdin is larger than {SPOOL // MIB} MiB; write it to a file first, and copy that"
                raise InvalidArgument(text) from None
        size = spool.tell()
        spool.seek(0)
        await _send(client, spool, size, target, tally, "stdin")


async def _send(client: Client, stream: IO[bytes], size: int, target: Place, tally: Tally, name: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(stream.read, MIB):
            yield piece
            tally.add(len(piece))

    tally.begin(name, size)
    await client.upload(target.machine, target.path, size, pieces())
    tally.end()
