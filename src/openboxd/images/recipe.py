"""What an image is made from, as data, and the digest that names it. Pure: no I/O, no clock.

Two recipes with the same digest make interchangeable images; whatever changes the result belongs into the digest.
The mirror does not: it says where the same packages come from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from openboxd.images import initrd, system
from openboxd.model import GIB

FORMAT = 1
"""Raise when the build itself changes in a way that the recipe's data does not show."""

SUITE = "trixie"  # Debian 13: its cloud kernel has the VM-generation id driver, Debian 12's has not

PACKAGES = (
    "bash-completion",
    "busybox-static",  # the whole of the initrd's user space
    "ca-certificates",
    "curl",
    "dbus",
    "e2fsprogs",
    "iproute2",
    "iputils-ping",
    "kmod",
    "less",
    "libnss-myhostname",  # the machine's own name resolves without /etc/hosts
    "libpam-systemd",  # logind: the power button shuts the machine down cleanly
    "linux-image-cloud-amd64",
    "nano",
    "nftables",
    "openssh-server",
    "procps",
    "python3",  # the agent's interpreter; includes sqlite3
    "rsync",  # runs at both ends, so that of the user's computer needs it here
    "sudo",
    "systemd",
    "systemd-resolved",
    "systemd-sysv",
    "tzdata",
    "udev",
    "vim-tiny",
)

DISK_BYTES = 16 * GIB
"""Virtual size of the root disk; what it really occupies is a few hundred MiB."""


class PayloadFile(Protocol):
    """A file that the agent brings along: `path` is absolute; with `symlink_to` it is a link and has no data."""

    @property
    def path(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def mode(self) -> int: ...
    @property
    def symlink_to(self) -> str | None: ...


@dataclass(frozen=True)
class TreeFile:
    """A file, or with `link` a symbolic link, to be put into the image. Owner is always root."""

    path: str
    data: bytes = b""
    mode: int = 0o644
    link: str = ""


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what is in an image."""

    name: str
    suite: str
    packages: tuple[str, ...]
    early: tuple[TreeFile, ...]  # laid down before packages are configured
    late: tuple[TreeFile, ...]  # laid down after
    script: str  # run by sh with the tree's path as $1, last
    modules: tuple[str, ...]  # kernel modules the initrd loads
    init: str  # the initrd's /init
    disk_bytes: int

    @property
    def digest(self) -> str:
        """32 hex characters: sha256 over the recipe, cut."""
        plain = {
            "format": FORMAT,
            "suite": self.suite,
            "packages": self.packages,
            "early": [_plain(file) for file in self.early],
            "late": [_plain(file) for file in self.late],
            "script": self.script,
            "modules": self.modules,
            "init": self.init,
            "disk_bytes": self.disk_bytes,
        }
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:32]


def debian(payload: Iterable[PayloadFile], disk_bytes: int = DISK_BYTES) -> Recipe:
    """The default image: a small Debian with systemd, sshd, Python and the agent's `payload`."""
    own = tuple(TreeFile(path, text.encode(), mode) for path, (text, mode) in sorted(system.FILES.items()))
    links = tuple(TreeFile(path, link=target) for path, target in sorted(system.links().items()))
    agent = tuple(
        TreeFile(file.path, file.data, file.mode, file.symlink_to or "")
        for file in sorted(payload, key=lambda f: f.path)
    )
    return Recipe(
        name="debian-13",
        suite=SUITE,
        packages=PACKAGES,
        early=tuple(TreeFile(path, text.encode(), mode) for path, (text, mode) in sorted(system.EARLY.items())),
        late=own + links + agent,
        script=system.SCRIPT,
        modules=initrd.MODULES,
        init=initrd.INIT,
        disk_bytes=disk_bytes,
    )


def _plain(file: TreeFile) -> list[object]:
    return [file.path, hashlib.sha256(file.data).hexdigest(), file.mode, file.link]
