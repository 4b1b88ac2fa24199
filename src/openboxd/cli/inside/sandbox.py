"""Where a command of a guest runs: an empty root, no network, nobody's rights, and limits.

Only ever applied to a process that was made for it, and never taken back.
"""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path

NEWNET, NEWIPC, NEWUSER = 0x40000000, 0x08000000, 0x10000000
NO_NEW_PRIVILEGES = 38
NOBODY = 2_000_000_000
"""The first of the user ids that nobody has; each command has another one, so that none can touch another."""
NOBODIES = 100_000_000
NICE = 10
LIMITS = {
    resource.RLIMIT_CPU: 600,  # seconds
    resource.RLIMIT_AS: 3 << 30,
    resource.RLIMIT_NOFILE: 256,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_CORE: 0,
}

_libc = ctypes.CDLL(None, use_errno=True)


def enter(root: Path, number: int) -> None:
    """Go in for good. `number` tells commands that run at the same time apart.

    Raises:
        OSError: this host does not let us; nothing of the command may run then.
    """
    superuser = os.geteuid() == 0
    _check(_libc.unshare(NEWNET | NEWIPC | (0 if superuser else NEWUSER)))
    os.chroot(root)
    os.chdir("/")
    os.nice(NICE)
    if superuser:
        user = NOBODY + number % NOBODIES
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _check(_libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    for kind, limit in LIMITS.items():
        resource.setrlimit(kind, (limit, limit))


def _check(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
