"""Where disks, images and captures lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from openboxd.model import (
    Space,
    Usage,
)


class Pool(Protocol):
    """Directories and files on a filesystem with reflinks. Methods are synchronous and may block for I/O: call
    `publish`, `discard`, `usage` and `recover` in a thread.

    Attributes:
        kind: "reflink", or "copy" where every clone is a full copy.
    """

    kind: Literal["reflink", "copy"]

    def check(self) -> None:
        """Whether the pool is there. What changes something in it looks by itself.

        Raises:
            HostUnfit: its filesystem was unmounted, or another one is mounted in its place.
        """
        ...

    def space(self) -> Space:
        """Bytes of the pool's filesystem."""
        ...

    def image_dir(self, digest: str) -> Path:
        """disk.raw, vmlinuz, initrd and manifest.json of an image; exists iff the image is whole."""
        ...

    def machine_dir(self, machine_id: str) -> Path:
        """Directory of a machine (disk.raw, console.log, checkpoints/)."""
        ...

    def checkpoint_dir(self, machine_id: str, checkpoint_id: str) -> Path:
        """Directory of a checkpoint; exists iff its capture is whole."""
        ...

    def snapshot_dir(self, snapshot_id: str, version: int = 0) -> Path:
        """Directory of a version of a snapshot, which exists iff its capture is whole; without a version, of all."""
        ...

    def snapshot_dirs(self) -> Sequence[Path]:
        """Directories of all snapshots that have one, each as `snapshot_dir` has it without a version."""
        ...

    def stage(self, label: str) -> Path:
        """A new, empty, private directory in the staging area; `label` makes it recognisable."""
        ...

    def clone(self, source: Path, target: Path) -> None:
        """Copy a file by reflink (or plainly where the filesystem has none); `target` must not exist.

        Raises:
            WrongState: no space.
        """
        ...

    def publish(self, staging: Path, final: Path) -> None:
        """Make `staging` appear as `final`, durably: files synced, renamed, parent directory synced.

        `final` must not exist. After a failure either name holds the whole directory.
        """
        ...

    def discard(self, path: Path) -> None:
        """Remove a file or directory tree. It vanishes under its name at once and durably; its bytes follow.
        Harmless if it does not exist."""
        ...

    def usage(self, path: Path) -> Usage:
        """Allocated bytes of a directory's files, exclusive and shared; zeros if it does not exist."""
        ...

    def weigh(self, own: Sequence[Path], beyond: Sequence[Path] = ()) -> int:
        """Allocated bytes of the files below `own`, each block once, that no file below `beyond` holds as well.
        Without reflinks nothing is held twice. May take a moment: call it in a thread."""
        ...

    def recover(self) -> int:
        """Empty the staging area; how many things it held. Only while no operation runs."""
        ...
