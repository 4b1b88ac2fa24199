"""The pool: immutable directories that appear whole and vanish at once, and clones that cost nothing.

    images/<digest>/    machines/<id>/checkpoints/<id>/    snapshots/<id>/v<N>/    staging/

A directory is filled under `staging/`, synced, and renamed to where others look for it; it leaves by being renamed
back into `staging/` before its bytes are removed. So a crash leaves either the whole thing or something that
`recover` sweeps away. The pool counts no references: on a filesystem with reflinks the filesystem does.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from openboxd.errors import HostUnfit, WrongState
from openboxd.host import extents, files, reflink
from openboxd.model import MIB, Space, Usage
from openboxd.pool import names

Kind = Literal["reflink", "copy"]


class DirectoryPool:
    """`ports.Pool` on a directory.

    Attributes:
        root: the directory.
        kind: "reflink", or "copy" where the filesystem cannot share blocks and every clone is a full copy.
        reason: a clause that says why it is of this kind.
    """

    def __init__(self, root: Path, kind: Kind, reason: str) -> None:
        """Makes the pool's directories where they are missing."""
        self.root = root
        self.kind: Kind = kind
        self.reason = reason
        self._staging = root / "staging"
        for directory in ("images", "machines", "snapshots", "staging"):
            files.make_directory(root / directory)
        self._identity = _identity(root)

    def check(self) -> None:
        """Raises HostUnfit if the filesystem that this pool was opened on is not there: a bare mount point looks like
        a pool whose machines and checkpoints are all gone."""
        if _identity(self.root) != self._identity:
            raise HostUnfit(
                f"the pool at {self.root} is not mounted any more, or not as it was when boxd started; nothing was "
                "touched; mount it, or restart boxd"
            )

    def space(self) -> Space:
        """Bytes of the pool's filesystem that we may use."""
        found = os.statvfs(self.root)
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def image_dir(self, digest: str) -> Path:
        """Directory of an image."""
        return self.root / "images" / names.checked(digest)

    def machine_dir(self, machine_id: str) -> Path:
        """Directory of a machine."""
        return self.root / "machines" / names.checked(machine_id)

    def checkpoint_dir(self, machine_id: str, checkpoint_id: str) -> Path:
        """Directory of a checkpoint."""
        return self.machine_dir(machine_id) / "checkpoints" / names.checked(checkpoint_id)

    def snapshot_dir(self, snapshot_id: str, version: int = 0) -> Path:
        """Directory of a version of a snapshot; without a version, of all."""
        directory = self.root / "snapshots" / names.checked(snapshot_id)
        return directory / f"v{version}" if version else directory

    def snapshot_dirs(self) -> Sequence[Path]:
        """Directories of all snapshots that have one."""
        return sorted((self.root / "snapshots").iterdir())

    def stage(self, label: str) -> Path:
        """A new, empty, private directory in the staging area."""
        self.check()
        path = self._staging / f"{names.label(label)}-{secrets.token_hex(6)}"
        path.mkdir(0o700)
        return path

    def clone(self, source: Path, target: Path) -> None:
        """Copy a file so that later writes to either do not reach the other; `target` must not exist.

        A source on another filesystem is copied plainly. After a failure `target` does not exist.
        """
        self.check()
        try:
            if self.kind == "reflink" and self._shared(source, target):
                return
            reflink.copy_file(source, target)
        except OSError as error:
            if files.is_full(error):
                raise self._full(source) from error
            raise

    def publish(self, staging: Path, final: Path) -> None:
        """Make `staging` appear as `final`, durably. `final` must not exist."""
        self._own(staging)
        self._own(final)
        self.check()
        files.sync_tree(staging)
        files.make_directory(final.parent)
        if os.path.lexists(final):  # rename would silently replace an empty directory
            raise FileExistsError(f"{final.name} is published already")
        staging.rename(final)
        files.sync_directory(final.parent)
        files.sync_directory(staging.parent)

    def discard(self, path: Path) -> None:
        """Remove a file or tree: gone under its name at once, its bytes follow. Harmless if it does not exist.

        Files are unlinked, never truncated: a machine may still run from a removed checkpoint's memory.
        """
        self._own(path)
        self.check()  # else it would seem to be gone, and would be back with the filesystem
        trash = self._staging / f"trash-{secrets.token_hex(6)}"
        try:
            path.rename(trash)
        except FileNotFoundError:
            return
        files.sync_directory(path.parent)
        files.sync_directory(self._staging)
        files.remove(trash)

    def usage(self, path: Path) -> Usage:
        """Allocated bytes of the files below `path`, exclusive and shared; zeros if it does not exist."""
        return extents.tree_usage(path, reflinks=self.kind == "reflink")

    def weigh(self, own: Sequence[Path], beyond: Sequence[Path] = ()) -> int:
        """Allocated bytes of the files below `own`, each block once, that no file below `beyond` holds as well."""
        return extents.distinct_bytes(own, beyond, reflinks=self.kind == "reflink")

    def recover(self) -> int:
        """Empty the staging area; how many things it held. Only while no operation runs."""
        leftovers = list(self._staging.iterdir())
        for path in leftovers:
            files.remove(path)
        files.sync_directory(self._staging)
        return len(leftovers)

    def _shared(self, source: Path, target: Path) -> bool:
        try:
            reflink.clone_file(source, target)
        except OSError as error:
            if error.errno in reflink.CANNOT_SHARE:
                return False
            raise
        return True

    def _full(self, source: Path) -> WrongState:
        free, needed = self.space().free_bytes // MIB, source.stat().st_blocks * 512 // MIB
        return WrongState(
            f"the pool is full: {free} MiB are free and up to {needed} MiB are needed; "
            "remove a checkpoint or add space"
        )

    def _own(self, path: Path) -> None:
        """Refuse whatever does not lie inside the pool: publish and discard move and remove things."""
        parts = path.relative_to(self.root).parts  # ValueError outside the root
        if not parts or ".." in parts or parts == ("staging",):
            raise ValueError(f"{path} is not a thing in the pool")


def _identity(root: Path) -> tuple[int, int]:
    """What tells a mounted filesystem from its bare mount point; zeros if there is nothing."""
    try:
        found = root.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
