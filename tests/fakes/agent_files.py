"""Files of a fake guest: the calls of an agent, as functions over its disk, with a real system's refusals."""

from __future__ import annotations

import posixpath
import time
from dataclasses import replace

from openboxd.errors import AlreadyExists, InvalidArgument, NotFound, WrongState
from openboxd.model import DirEntry, Listing
from tests.fakes.guest import HOME, FakeGuest, Node


def resolve(path: str) -> str:
    """An absolute path; relative ones start at the home directory."""
    return "/" + posixpath.normpath(posixpath.join(HOME, path)).lstrip("/")


def node(guest: FakeGuest, path: str) -> Node:
    """What lies at a resolved path. Raises NotFound."""
    found = guest.disk.nodes.get(path)
    if found is None:
        raise NotFound(f"'{path}' does not exist")
    return found


def read(guest: FakeGuest, path: str) -> bytes:
    """Content of a file. Raises NotFound, WrongState."""
    found = node(guest, path)
    if found.is_dir:
        raise WrongState(f"'{path}' is a directory")
    return found.data.encode("latin-1")


def write(guest: FakeGuest, path: str, data: bytes) -> None:
    """Write a file. Raises NotFound (no parent), WrongState."""
    _require_parent(guest, path)
    if path in guest.disk.nodes and guest.disk.nodes[path].is_dir:
        raise WrongState(f"'{path}' is a directory")
    guest.disk.nodes[path] = Node(data=data.decode("latin-1"))
    guest.write_disk()


def mkdir(guest: FakeGuest, path: str) -> None:
    """Make one directory."""
    _require_parent(guest, path)
    if path in guest.disk.nodes:
        raise AlreadyExists(f"'{path}' already exists")
    guest.disk.nodes[path] = Node(is_dir=True)
    guest.write_disk()


def listing(guest: FakeGuest, path: str, limit: int) -> Listing:
    """Entries of a directory, by name."""
    if not node(guest, path).is_dir:
        raise WrongState(f"'{path}' is not a directory")
    entries = [
        DirEntry(
            name=posixpath.basename(child),
            is_dir=found.is_dir,
            size_bytes=len(found.data),
            permissions="drwxr-xr-x" if found.is_dir else "-rw-r--r--",
            modified_at=found.modified_at,
            added_at=found.modified_at,
        )
        for child, found in guest.disk.nodes.items()
        if child != "/" and posixpath.dirname(child) == path
    ]
    entries.sort(key=lambda entry: entry.name)
    return Listing(tuple(entries[:limit]), len(entries) > limit)


def copy(guest: FakeGuest, old: str, new: str) -> None:
    """Copy a file or a tree; an existing file is replaced."""
    _check_target(guest, old, new)
    now = int(time.time())
    for path in _tree(guest, old):
        guest.disk.nodes[new + path[len(old) :]] = replace(guest.disk.nodes[path], modified_at=now)
    guest.write_disk()


def rename(guest: FakeGuest, old: str, new: str) -> None:
    """Move a file or a tree; an existing file is replaced."""
    _check_target(guest, old, new)
    for path in _tree(guest, old) if old != new else ():
        guest.disk.nodes[new + path[len(old) :]] = guest.disk.nodes.pop(path)
    guest.write_disk()


def delete(guest: FakeGuest, path: str) -> None:
    """Delete a file or a tree."""
    node(guest, path)
    if path == "/":
        raise WrongState("'/' cannot be deleted")
    for gone in _tree(guest, path):
        del guest.disk.nodes[gone]
    guest.write_disk()


def check_size(total_size: int, received: int) -> None:
    """Raises InvalidArgument if an upload was not as long as announced."""
    if received != total_size:
        raise InvalidArgument(f"{total_size} bytes were announced and {received} came; nothing was written")


def _check_target(guest: FakeGuest, old: str, new: str) -> None:
    source = node(guest, old)
    _require_parent(guest, new)
    target = guest.disk.nodes.get(new)
    if new.startswith(old.rstrip("/") + "/"):
        raise WrongState(f"'{new}' lies inside '{old}'")
    if target is not None and (target.is_dir or source.is_dir) and old != new:
        raise WrongState(f"'{new}' exists")


def _require_parent(guest: FakeGuest, path: str) -> None:
    if not node(guest, posixpath.dirname(path)).is_dir:
        raise WrongState(f"'{posixpath.dirname(path)}' is not a directory")


def _tree(guest: FakeGuest, top: str) -> list[str]:
    return [path for path in guest.disk.nodes if path == top or path.startswith(top.rstrip("/") + "/")]
