"""Who commands and file requests run as, read from /etc/passwd and /etc/group themselves: name services may not be
up when the agent is, and must not hold it."""

from __future__ import annotations

import os
from types import TracebackType

ACCOUNTS = "/etc/passwd"
GROUPS = "/etc/group"


class User:
    def __init__(self, name: str, uid: int, gid: int, groups: list[int], home: str, shell: str) -> None:
        self.name = name
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.home = home
        self.shell = shell


class Users:
    """The one user requests are served for; looked up anew when the files have changed (`usermod -aG`)."""

    def __init__(self, name: str, home: str = "") -> None:
        self._name = name
        self._home = home
        self._stamp: tuple[int, ...] = ()
        self._user: User | None = None

    def current(self) -> User:
        """Raises KeyError if there is no such user."""
        stamp = _stamp(ACCOUNTS) + _stamp(GROUPS)
        if self._user is None or stamp != self._stamp:
            self._user = _look_up(self._name, self._home)
            self._stamp = stamp
        return self._user


class Acting:
    """Within the `with`, file system calls have the user's rights and no more. Without root there is nothing to
    change: the agent is then tried on a host, as the user itself."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._groups: list[int] = []

    def __enter__(self) -> User:
        if os.geteuid() == 0:
            self._groups = os.getgroups()
            os.setgroups(self._user.groups)
            os.setegid(self._user.gid)
            os.seteuid(self._user.uid)
        return self._user

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if os.getuid() == 0:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(self._groups)


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_ino, found.st_mtime_ns)


def _look_up(name: str, home: str) -> User:
    for fields in _lines(ACCOUNTS):
        if fields[0] == name and len(fields) == 7:
            gid = int(fields[3])
            groups = {int(group[2]) for group in _lines(GROUPS) if len(group) == 4 and name in group[3].split(",")}
            return User(name, int(fields[2]), gid, sorted(groups | {gid}), home or fields[5], fields[6] or "/bin/sh")
    raise KeyError(name)


def _lines(path: str) -> list[list[str]]:
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        return [line.rstrip("\n").split(":") for line in lines]
