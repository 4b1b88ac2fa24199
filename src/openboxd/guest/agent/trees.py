"""Making, moving, deleting and copying, with the user's rights.

What takes one system call is done at once. Whole trees are left to `rm` and `cp` in a process of their own, so that
a large one does not hold everybody else.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from openboxd.guest.agent.paths import refusal, resolve
from openboxd.guest.agent.pipes import open_pipes, read_some
from openboxd.guest.agent.process import Process
from openboxd.guest.agent.spawn import environment, spawn
from openboxd.guest.agent.stream import Refusal, Stream
from openboxd.guest.agent.users import Acting, Users

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

RM = "/bin/rm"
CP = "/bin/cp"
MAX_COMPLAINT = 1000


class Mkdir(Stream):
    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, 0)
        self._users = users
        self._path = str(request["path"])

    def opened(self) -> None:
        with Acting(self._users.current()) as user:
            try:
                os.mkdir(resolve(self._path, user))
            except FileNotFoundError:
                text = f"cannot make directory '{self._path}': its parent directory does not exist"
                raise Refusal("not_found", text) from None
            except OSError as error:
                raise refusal("make directory", self._path, error) from error
        self.finish()


class Rename(Stream):
    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, 0)
        self._users = users
        self._old = str(request["old"])
        self._new = str(request["new"])

    def opened(self) -> None:
        with Acting(self._users.current()) as user:
            old, new = resolve(self._old, user), resolve(self._new, user)
            _must_exist("rename", self._old, old)
            _check_target("rename", self._old, self._new, new)
            try:
                os.rename(old, new)
            except OSError as error:
                raise refusal("rename", f"{self._old}' to '{self._new}", error) from error
        self.finish()


class TreeJob(Stream):
    """Runs a program to its end; what it complains about becomes the error."""

    deed = ""

    def __init__(self, link: Link, ident: int, users: Users) -> None:
        super().__init__(link, ident, 0)
        self.users = users
        self._process: Process | None = None
        self._complaints = -1

    def start(self, argv: list[str]) -> None:
        """Start the program as the user. Raises Refusal."""
        user = self.users.current()
        try:
            self._complaints, theirs = open_pipes(1)
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            try:
                pid = spawn(argv, environment(user), user, {0: null, 1: null, 2: theirs})
            finally:
                os.close(theirs)
                os.close(null)
            self._process = Process(self.link.loop, pid, self._exited)
        except OSError as error:
            raise refusal("start", argv[0], error) from error
        os.set_blocking(self._complaints, False)

    def _exited(self, status: int) -> None:
        complaint = read_some(self._complaints, MAX_COMPLAINT) or b"" if self._complaints >= 0 else b""
        try:
            if status != 0:
                line = complaint.decode("utf-8", "replace").strip().partition("\n")[0]
                raise Refusal(
                    "state", line.partition(": ")[2] or f"cannot {self.deed}: the program failed ({status})"
                )
            self.done()
            self.finish()
        except Refusal as error:
            self.failed()
            self.refuse(error)

    def done(self) -> None:
        """The program succeeded; may raise Refusal."""

    def failed(self) -> None:
        """The program failed or was stopped; clean up."""

    def closed(self, epoch_over: bool) -> None:
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1
        if self._process is not None and self._process.running:
            self._process.kill()


class Delete(TreeJob):
    deed = "delete"

    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, users)
        self._path = str(request["path"])

    def opened(self) -> None:
        with Acting(self.users.current()) as user:
            path = resolve(self._path, user)
            if stat.S_ISDIR(_must_exist("delete", self._path, path).st_mode):
                tree = path.rstrip("/")
                if not tree:
                    raise Refusal("state", f"cannot delete '{self._path}': it is the root directory")
            else:
                tree = ""
                try:
                    os.unlink(path)
                except OSError as error:
                    raise refusal("delete", self._path, error) from error
        if tree:
            self.start([RM, "-rf", "--one-file-system", "--", tree])
        else:
            self.finish()


class Copy(TreeJob):
    """Copied beside the target, then renamed: half a copy is never seen under the final name."""

    deed = "copy"

    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, users)
        self._old = str(request["old"])
        self._new = str(request["new"])

    def opened(self) -> None:
        with Acting(self.users.current()) as user:
            old, self._target = resolve(self._old, user), resolve(self._new, user).rstrip("/")
            _must_exist("copy", self._old, old)
            _check_target("copy", self._old, self._new, self._target)
            if f"{os.path.realpath(self._target)}/".startswith(f"{os.path.realpath(old)}/"):
                raise Refusal(
                    "state", f"cannot copy '{self._old}' to '{self._new}': that is itself or lies within it"
                )
        directory = os.path.dirname(self._target)
        self._temporary = os.path.join(directory, f".boxd-copy-{os.urandom(8).hex()}")
        self.start([CP, "-a", "-T", "--", old, self._temporary])

    def done(self) -> None:
        with Acting(self.users.current()):
            try:
                os.rename(self._temporary, self._target)
            except OSError as error:
                raise refusal("copy", f"{self._old}' to '{self._new}", error) from error

    def failed(self) -> None:
        user = self.users.current()
        try:
            pid = spawn([RM, "-rf", "--", self._temporary], environment(user), user, {})
            Process(self.link.loop, pid, lambda _status: None)
        except OSError:
            pass  # (the copy's own error is the one to report)


def _must_exist(deed: str, path: str, resolved: str) -> os.stat_result:
    try:
        return os.lstat(resolved)
    except OSError as error:
        raise refusal(deed, path, error) from error


def _check_target(deed: str, old: str, path: str, resolved: str) -> None:
    """An existing file is replaced; a directory is not, and nothing is put into it either."""
    try:
        found = os.lstat(resolved)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(resolved.rstrip("/"))):
            text = f"cannot {deed} '{old}' to '{path}': the directory it should be in does not exist"
            raise Refusal("not_found", text) from None
        return
    except OSError as error:
        raise refusal(deed, path, error) from error
    if stat.S_ISDIR(found.st_mode):
        raise Refusal("state", f"cannot {deed} '{old}' to '{path}': that is an existing directory")
