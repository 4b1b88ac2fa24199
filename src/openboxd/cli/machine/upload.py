"""Copying from this host into a machine."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from openboxd.cli.machine.paths import Place, is_directory
from openboxd.cli.machine.shell import shell_line
from openboxd.cli.output import note
from openboxd.errors import AlreadyExists, InvalidArgument
from openboxd.model import MIB, ExecRequest

if TYPE_CHECKING:
    from openboxd.client.client import Client

SPOOL = 64 * MIB
"""Bytes of stdin kept in memory before they go to a temporary file: an upload names its size first."""


async def upload(client: Client, source: str, goal: Place, recursive: bool) -> tuple[int, int]:
    """Files and bytes copied."""
    into = await is_directory(client, goal)
    if source == "-":
        if into:
            raise InvalidArgument("stdin has no name; say which file it is to become")
        return 1, await _upload_stdin(client, goal)
    entries = list(_walk(source, recursive))
    target = goal.child(_name(source)) if into else goal
    files = total = 0
    for local, below, directory in entries:
        place = target.child(below) if below else target
        if directory:
            await _ensure_directory(client, place)
        else:
            files, total = files + 1, total + await _upload_file(client, local, place)
    return files, total


def _walk(source: str, recursive: bool) -> Iterator[tuple[Path, str, bool]]:
    """What to copy, parents first: the local path, the path below the target, and whether it is a directory."""
    root = Path(source)
    if not root.is_dir():
        yield root, "", False
        return
    if not recursive:
        raise InvalidArgument(f"'{source}' is a directory; copy it with -r")
    yield root, "", True
    for child in sorted(root.rglob("*")):
        # A link may lead out of the tree or around in it, and opening a pipe or device could wait for ever.
        if child.is_symlink() or not (child.is_dir() or child.is_file()):
            note(f"skipped {child}: neither a file nor a directory")
        else:
            yield child, child.relative_to(root).as_posix(), child.is_dir()


def _name(source: str) -> str:
    """The name that a source keeps inside a directory; `.` is called what it is called."""
    return Path(source).resolve().name if source.rstrip("/").endswith(".") else Path(source).name


async def _ensure_directory(client: Client, place: Place) -> None:
    try:
        await client.mkdir(place.machine, place.path)
    except AlreadyExists:
        pass


async def _upload_file(client: Client, local: Path, target: Place) -> int:
    with _open(local) as stream:
        about = os.fstat(stream.fileno())
        written = await client.upload(target.machine, target.path, about.st_size, _pieces(stream))
    if about.st_mode & 0o100:
        await _make_executable(client, target)
    return written


def _open(local: Path) -> IO[bytes]:
    return local.open("rb")


async def _upload_stdin(client: Client, target: Place) -> int:
    with tempfile.SpooledTemporaryFile(max_size=SPOOL) as spool:
        while piece := await asyncio.to_thread(sys.stdin.buffer.read, MIB):
            spool.write(piece)
        size = spool.tell()
        spool.seek(0)
        return await client.upload(target.machine, target.path, size, _pieces(spool))


async def _pieces(stream: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(stream.read, MIB):
        yield piece


async def _make_executable(client: Client, target: Place) -> None:
    """The file calls carry no mode, but a script that cannot be run is not what was copied."""
    execution = await client.exec(target.machine, ExecRequest(shell_line(["chmod", "+x", "--", target.path])))
    await execution.write_eof()
    async for _ in execution.output():
        pass
    if execution.exit_code != 0:
        note(f"{target.machine}:{target.path} could not be made executable")
