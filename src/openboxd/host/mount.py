"""A filesystem with reflinks in a file: made once, mounted when needed, unmounted for tests and removal."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from openboxd.errors import OperationFailed
from openboxd.host import files, programs

_MAKE_LIMIT = 300.0  # seconds for mkfs on a slow disk


def is_mounted(path: Path) -> bool:
    """Whether something is mounted on exactly this directory."""
    return source(path) is not None


def source(path: Path) -> str | None:
    """Device of the filesystem mounted on exactly this directory, or None."""
    wanted = str(path.resolve())
    found = None
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        if _unescape(left.split()[4]) == wanted:
            found = right.split()[1]  # the last one listed lies on top
    return found


def make_xfs(image: Path, size: int) -> None:
    """Make a file of `size` reserved bytes with an empty XFS in it, whole or not at all.

    The bytes are reserved, not sparse: a host that fills up later must not become an I/O error inside a guest.
    """
    programs.find("mkfs.xfs")
    young = image.with_name(f"{image.name}.new")
    young.unlink(missing_ok=True)  # of a process that died here; callers hold a lock
    try:
        files.allocate(young, size)
        # -K: mkfs must not hand the reserved blocks back
        programs.run(["mkfs.xfs", "-q", "-K", "-m", "reflink=1,crc=1", str(young)], timeout=_MAKE_LIMIT)
        files.sync_file(young)
        young.rename(image)
    except BaseException:
        young.unlink(missing_ok=True)
        raise
    files.sync_directory(image.parent)


def mount_image(image: Path, directory: Path) -> None:
    """Mount a filesystem image on a directory. Raises OperationFailed; then nothing is mounted.

    The loop device uses direct I/O: page cache is not spent twice, and a sync is about a tenth quicker than
    through the host's cache. It is told to ignore discards, which would punch the reserved blocks out of the file.
    """
    programs.run(["mount", "-t", "xfs", "-o", "loop,noatime", str(image), str(directory)])
    directory.chmod(0o700)
    device = source(directory)
    if device is None:
        raise OperationFailed(f"{image.name} was mounted and is not there")
    with suppress(OperationFailed):  # not every filesystem below can do it; it only costs speed
        programs.run(["losetup", "--direct-io=on", device])
    with suppress(OSError):
        (Path("/sys/block") / Path(device).name / "queue/discard_max_bytes").write_text("0")


def unmount(directory: Path) -> None:
    """Unmount; the loop device goes with it. Harmless if nothing is mounted. Raises OperationFailed if in use."""
    if is_mounted(directory):
        os.sync()
        programs.run(["umount", str(directory)])


def _unescape(text: str) -> str:
    """Mountinfo writes blanks and backslashes as octal escapes."""
    for code in ("040", "011", "012", "134"):
        text = text.replace(f"\\{code}", chr(int(code, 8)))
    return text
