"""Finding or making the pool of a home: a filesystem with reflinks if there is any way to one."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from openboxd.errors import HostUnfit, OperationFailed, WrongState
from openboxd.host import files, mount, reflink
from openboxd.model import GIB
from openboxd.pool.directory import DirectoryPool
from openboxd.settings import Settings

log = logging.getLogger(__name__)

LEAST_BYTES = 4 * GIB
MOST_BYTES = 32 * GIB
SHARE_OF_FREE = 0.4  # of what is free on the home's filesystem; the rest stays the host's


def open_pool(settings: Settings) -> DirectoryPool:
    """The pool of this home, made or mounted again if need be. Blocks; safe when two processes do it at once.

    1. The pool directory, if its filesystem has reflinks (also when something is mounted there already).
    2. As root: an XFS image beside it, made once and mounted on it.
    3. The pool directory with plain copies; a warning says what that costs.

    Raises:
        HostUnfit: the image exists but cannot be mounted, there is too little space to make it, or a program is
            missing. Nothing was changed.
    """
    files.make_directory(settings.home)
    with files.lock(settings.home / ".pool.lock"):
        files.make_directory(settings.pool_dir)
        if settings.pool_image.exists() and not mount.is_mounted(settings.pool_dir):
            _mount_again(settings)
        able, reason = reflink.probe(settings.pool_dir)
        if not able:
            able, reason = _make(settings, reason)
    if not able:
        log.warning(
            "the pool makes plain copies, because %s: every save and every new machine copies a whole disk; "
            "put %s on XFS or btrfs",
            reason,
            settings.pool_dir,
        )
    return DirectoryPool(settings.pool_dir, "reflink" if able else "copy", reason)


def close_pool(settings: Settings) -> None:
    """Unmount the pool if it is an image of ours; it stays as it is and can be opened again. Harmless twice.

    Raises:
        WrongState: something still uses it, such as a running machine.
    """
    if not settings.pool_image.exists():
        return
    with files.lock(settings.home / ".pool.lock"):
        try:
            mount.unmount(settings.pool_dir)
        except OperationFailed as error:
            raise WrongState(f"the pool is in use and stays mounted; stop its machines first ({error})") from error


def image_size(wanted: int, free: int) -> int:
    """Bytes for a new pool image: what was asked for, else a share of what is free. Pure.

    Raises HostUnfit if that is too little, or more than there is."""
    size = wanted or min(MOST_BYTES, int(free * SHARE_OF_FREE))
    size -= size % GIB if size >= GIB else 0
    if size < LEAST_BYTES:
        raise HostUnfit(
            f"a pool needs at least {LEAST_BYTES // GIB} GiB and would get {size / GIB:.1f} GiB "
            f"({free / GIB:.1f} GiB are free); free some space or set BOXD_HOME to a larger filesystem"
        )
    if size > free:
        raise HostUnfit(
            f"BOXD_POOL_SIZE asks for {size / GIB:.0f} GiB and {free / GIB:.1f} GiB are free; ask for less"
        )
    return size


def _mount_again(settings: Settings) -> None:
    """After a reboot of the host. Without it the pool would look empty, so there is no way around it."""
    if os.geteuid() != 0:
        raise HostUnfit("the pool is an image that is not mounted; start boxd as root once to mount it")
    try:
        mount.mount_image(settings.pool_image, settings.pool_dir)
    except OperationFailed as error:
        raise HostUnfit(f"the pool's image cannot be mounted, nothing was changed: {error}") from error


def _make(settings: Settings, reason: str) -> tuple[bool, str]:
    """Make and mount an image; whether there are reflinks now, and why (not)."""
    if os.geteuid() != 0:
        return False, f"{reason} and only root can mount one that has"
    if _holds_data(settings.pool_dir):
        return False, f"{reason} and it already holds machines that an image would hide"
    size = image_size(settings.pool_bytes, _free(settings.home))
    log.info(
        "making the pool %s: its %d GiB are reserved on this host's disk at once, for machines and checkpoints; "
        "BOXD_POOL_SIZE sets another size before the first start",
        settings.pool_image,
        size // GIB,
    )
    mount.make_xfs(settings.pool_image, size)
    try:
        mount.mount_image(settings.pool_image, settings.pool_dir)
    except OperationFailed as error:  # a container without loop devices, for one
        settings.pool_image.unlink()
        return False, f"{reason} and an image of one that has cannot be mounted ({error})"
    return reflink.probe(settings.pool_dir)


def _holds_data(directory: Path) -> bool:
    return any(any(child.iterdir()) for child in directory.iterdir() if child.is_dir())


def _free(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize
