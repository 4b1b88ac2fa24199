"""The two sides of a copy: `NAME:PATH` is in a machine, everything else is here."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openboxd.errors import AlreadyExists, InvalidArgument, NotFound, WrongState

if TYPE_CHECKING:
    from openboxd.client.client import Client

REMOTE = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*):(.*)", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """A path, in a machine if one is named."""

    path: str
    machine: str = ""

    @property
    def is_remote(self) -> bool:
        """It is in a machine."""
        return bool(self.machine)

    def __str__(self) -> str:
        return f"{self.machine}:{self.path.removeprefix('./')}" if self.is_remote else self.path

    def child(self, name: str) -> Place:
        """The path of an entry of this directory."""
        return Place(posixpath.join(self.path, name), self.machine)

    def own_name(self) -> str:
        """What it is called in its directory. Raises InvalidArgument for one that leads elsewhere, such as `..`."""
        name = posixpath.basename(self.path.rstrip("/"))
        if name in ("", ".", ".."):
            raise InvalidArgument(f"'{self}' has no name of its own; say what it is to become")
        return name


def parse(text: str) -> Place:
    """`web:/etc/motd`, `web:~/x`, `web:`; a local path with a colon needs a slash before it."""
    match = REMOTE.fullmatch(text)
    if match is None:
        return Place(text)
    path = match[2]
    if path == "~" or path.startswith("~/"):
        path = path[2:].lstrip("/")  # relative paths begin at home
    return Place(path or ".", match[1])


async def is_directory(client: Client, place: Place) -> bool:
    """Whether a machine's path is a directory; what ends in a slash is meant to be one."""
    if place.path.endswith("/"):
        return True
    try:
        await client.list_dir(place.machine, place.path)
    except (NotFound, WrongState):
        # A machine that does not exist or does not run says so again when the copy begins.
        return False
    return True


async def ensure_directory(client: Client, place: Place) -> None:
    """Make it unless it is there."""
    try:
        await client.mkdir(place.machine, place.path)
    except AlreadyExists:
        pass
