"""Files of the fake service: a directory on this host stands for the machine's file system."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path

from openboxd.errors import AlreadyExists, InvalidArgument, NotFound, WrongState
from openboxd.model import DirEntry, Listing

PIECE = 64 * 1024
LIMIT = 10_000


class LocalFiles:
    """Relative paths begin in home/boxd, as in a machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home/boxd"
        self.home.mkdir(parents=True, exist_ok=True)

    def resolve(self, path: str) -> Path:
        return self.root / path.lstrip("/") if path.startswith("/") else self.home / path

    def existing(self, path: str) -> Path:
        found = self.resolve(path)
        if not os.path.lexists(found):
            raise NotFound(f"'{path}' does not exist")
        return found

    async def upload(self, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        target = self.resolve(path)
        if not target.parent.is_dir():
            raise NotFound(f"the directory of '{path}' does not exist")
        if target.is_dir():
            raise WrongState(f"'{path}' is a directory")
        content = bytearray()
        async for piece in data:
            content += piece
        if len(content) != total_size:
            raise InvalidArgument(f"{len(content)} bytes came instead of {total_size}; '{path}' was not changed")
        target.write_bytes(content)
        return len(content)

    async def download(self, path: str) -> tuple[int, AsyncIterator[bytes]]:
        source = self.existing(path)
        if source.is_dir():
            raise WrongState(f"'{path}' is a directory")
        content = source.read_bytes()

        async def pieces() -> AsyncIterator[bytes]:
            for start in range(0, len(content), PIECE):
                yield content[start : start + PIECE]

        return len(content), pieces()

    def list_dir(self, path: str) -> Listing:
        directory = self.existing(path)
        if not directory.is_dir():
            raise WrongState(f"'{path}' is not a directory")
        entries = []
        for child in sorted(directory.iterdir()):
            about = child.lstat()
            entries.append(
                DirEntry(
                    name=child.name,
                    is_dir=child.is_dir() and not child.is_symlink(),
                    size_bytes=about.st_size,
                    permissions=stat.filemode(about.st_mode),
                    modified_at=int(about.st_mtime),
                    added_at=int(about.st_ctime),
                )
            )
        return Listing(tuple(entries[:LIMIT]), len(entries) > LIMIT)

    def mkdir(self, path: str) -> None:
        target = self.resolve(path)
        if not target.parent.is_dir():
            raise NotFound(f"the directory of '{path}' does not exist")
        if target.exists():
            raise AlreadyExists(f"'{path}' exists")
        target.mkdir()

    def rename(self, old: str, new: str) -> None:
        self.existing(old).rename(self.resolve(new))

    def delete(self, path: str) -> None:
        found = self.existing(path)
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found)
        else:
            found.unlink()

    def copy(self, old: str, new: str) -> None:
        source = self.existing(old)
        if source.is_dir():
            shutil.copytree(source, self.resolve(new))
        else:
            shutil.copy2(source, self.resolve(new))

    def freeze(self, to: Path) -> None:
        shutil.copytree(self.root, to, symlinks=True)

    def thaw(self, origin: Path) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(origin, self.root, symlinks=True)
