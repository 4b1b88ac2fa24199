"""Paths in requests, and sentences for what the system refuses."""

from __future__ import annotations

import errno
import os

from openboxd.guest.agent.stream import Refusal
from openboxd.guest.agent.users import User

_KINDS = {
    errno.ENOENT: "not_found",
    errno.EEXIST: "exists",
    errno.ENAMETOOLONG: "argument",
    errno.EINVAL: "argument",
}


def resolve(path: str, user: User) -> str:
    """Relative paths and `~` are under the user's home; nothing else is expanded."""
    if not path or "\0" in path:
        raise Refusal("argument", "a path is empty or holds a zero byte; name a file or directory")
    if path == "~" or path.startswith("~/"):
        path = user.home + path[1:]
    return os.path.join(user.home, path)


def refusal(deed: str, path: str, error: OSError) -> Refusal:
    """`cannot <deed> '<path>': <reason>`"""
    reason = (error.strerror or str(error) or "unknown error").lower()
    return Refusal(_KINDS.get(error.errno or 0, "state"), f"cannot {deed} '{path}': {reason}")
