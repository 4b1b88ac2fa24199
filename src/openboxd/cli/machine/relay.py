"""Copying from a machine to a machine: what a copy is whose local side is a machine as well, because that is where
the command is typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from openboxd.cli.machine.listing import copied_entries, is_link
from openboxd.cli.machine.many import is_executable, make_executable, make_links, read_links
from openboxd.cli.machine.paths import Place, ensure_directory, is_directory
from openboxd.cli.machine.tally import Tally
from openboxd.errors import InvalidArgument

if TYPE_CHECKING:
    from openboxd.client.client import Client

Links = list[tuple[Place, Place]]


async def relay(client: Client, origin: Place, goal: Place, recursive: bool, tally: Tally) -> None:
    """Copy, and count in `tally` what was copied and what was not."""
    target = goal
    if await is_directory(client, goal):
        target = goal.child(origin.own_name())
    programs: list[str] = []
    links: Links = []
    if await is_directory(client, origin):
        if not recursive:
            raise InvalidArgument(f"'{origin}' is a directory; copy it with -r")
        await _tree(client, origin, target, programs, links, tally)
    else:
        await _file(client, origin, target, tally)
        if await is_executable(client, origin.machine, origin.path):
            programs.append(target.path)
    await _finish(client, target.machine, programs, links, tally)


async def _tree(
    client: Client, origin: Place, target: Place, programs: list[str], links: Links, tally: Tally
) -> None:
    entries = await copied_entries(client, origin, tally)
    await ensure_directory(client, target)
    for entry in entries:
        source, place = origin.child(entry.name), target.child(entry.name)
        if is_link(entry):
            links.append((source, place))
        elif entry.is_dir:
            await _tree(client, source, place, programs, links, tally)
        else:
            await _file(client, source, place, tally)
            programs += [place.path] if "x" in entry.permissions[1:4] else []


async def _file(client: Client, origin: Place, target: Place, tally: Tally) -> None:
    """Through here, piece by piece: the first one says how many bytes there are."""
    tally.begin(str(origin))
    chunks = client.download(origin.machine, origin.path)
    first = await anext(chunks, None)
    size = first.total_size if first is not None else 0
    if first is not None and not size:
        size = len(first.data)  # a file without a size, such as those of /proc, comes in one piece

    async def pieces() -> AsyncIterator[bytes]:
        if first is not None and first.data:
            tally.add(len(first.data), size)
            yield first.data
        async for chunk in chunks:
            tally.add(len(chunk.data), size)
            yield chunk.data

    await client.upload(target.machine, target.path, size, pieces())
    tally.end()


async def _finish(client: Client, machine: str, programs: list[str], links: Links, tally: Tally) -> None:
    """Modes, then links: no file is written through one of them."""
    for path in await make_executable(client, machine, programs):
        tally.skip(str(Place(path, machine)), "it was copied but could not be made executable")
    if not links:
        return
    targets = await read_links(client, links[0][0].machine, [source.path for source, _ in links])
    known = [(text, place.path) for text, (_, place) in zip(targets, links, strict=True) if text]
    failed = await make_links(client, machine, known)
    tally.links += len(known) - len(failed)
    for path in failed:
        tally.skip(str(Place(path, machine)), "the link could not be made there")
