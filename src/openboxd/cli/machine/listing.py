"""What a directory of a machine holds, for a copy that goes through it. Nothing of it is trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from openboxd.cli.machine.paths import Place
from openboxd.cli.machine.tally import Tally
from openboxd.errors import InvalidArgument

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import DirEntry

KINDS = {"p": "a named pipe", "s": "a socket", "c": "a device", "b": "a device"}
"""By the first letter of a listing."""


async def copied_entries(client: Client, directory: Place, tally: Tally) -> Iterator[DirEntry]:
    """Files, directories and links, one by one; the tally is told of everything else.

    Raises:
        InvalidArgument: it holds more than one listing shows; an entry that is reached has no plain name.
    """
    listing = await client.list_dir(directory.machine, directory.path)
    if listing.truncated:
        raise InvalidArgument(f"'{directory.path}' holds more entries than one listing shows; copy an archive of it")
    return _copied(listing.entries, directory, tally)


def is_link(entry: DirEntry) -> bool:
    """Whatever it leads to."""
    return entry.permissions.startswith("l")


def _copied(entries: Iterable[DirEntry], directory: Place, tally: Tally) -> Iterator[DirEntry]:
    for entry in entries:
        _check_name(entry.name)
        letter = entry.permissions[:1]
        if letter in ("-", "d", "l"):
            yield entry
        else:
            tally.skip(str(directory.child(entry.name)), f"it is {KINDS.get(letter, 'of an unknown kind')}")


def _check_name(name: str) -> None:
    """A directory entry of a machine must be a plain name before it becomes one elsewhere."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise InvalidArgument(f"the machine lists an entry named {name!r}, which is not copied")
