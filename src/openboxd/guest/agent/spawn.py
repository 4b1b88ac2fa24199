"""Start a program as the user, by posix_spawn.

posix_spawn uses vfork, which under software emulation is much faster than a fork of Python. It cannot change the
user by itself, but it can drop the effective ids to the real ones. So the agent takes the user's *real* ids for the
moment of the call. What else the child inherits (directory, groups, limits) is set the same way; nothing else
runs in between, because the agent has one thread.
"""

from __future__ import annotations

import os
import resource
import signal

from openboxd.guest.agent.users import User

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SHELL = "/bin/sh"
SOFT_NOFILE = 1024  # what programs expect; the agent itself needs more
FileAction = tuple[int, int] | tuple[int, str]


# What Python ignores, and what whoever started the agent may have made it ignore: commands begin afresh.
DEFAULTS = [
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGXFSZ,
]


def environment(user: User, term: str = "") -> dict[str, str]:
    """Like a login's."""
    env = {"HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": user.shell, "PATH": PATH}
    env["LANG"] = "C.UTF-8"
    if term:
        env["TERM"] = term
    return env


def spawn(argv: list[str], env: dict[str, str], user: User, fds: dict[int, int | str]) -> int:
    """Start `argv` in its own session with the descriptors `fds` (number in the child: ours, or a path to open).

    Opening a terminal as the leader of a new session makes it the controlling one. All other descriptors of the
    agent are closed in the child (they are close-on-exec). Raises OSError if it cannot be started.
    """
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = []
    for target, source in fds.items():
        if isinstance(source, str):
            actions.append((os.POSIX_SPAWN_OPEN, target, source, os.O_RDWR, 0))
        else:
            actions.append((os.POSIX_SPAWN_DUP2, source, target))
    with _Disguise(user):
        return os.posix_spawn(
            argv[0],
            argv,
            env,
            file_actions=actions,
            setsid=True,
            resetids=True,
            setsigmask=[],
            setsigdef=DEFAULTS,
        )


class _Disguise:
    """What the child is to inherit, put on for the moment of the call."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._root = os.geteuid() == 0

    def __enter__(self) -> None:
        try:
            os.chdir(self._user.home)
        except OSError:
            os.chdir("/")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limits = (soft, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(SOFT_NOFILE, soft), hard))
        if self._root:
            self._groups = os.getgroups()
            os.setgroups(self._user.groups)
            os.setresgid(self._user.gid, 0, 0)
            os.setresuid(self._user.uid, 0, 0)

    def __exit__(self, *_error: object) -> None:
        if self._root:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(self._groups)
        resource.setrlimit(resource.RLIMIT_NOFILE, self._limits)
        os.chdir("/")
