"""Uploads, downloads and listings, with the user's rights."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

from openboxd.guest import wire
from openboxd.guest.agent.paths import refusal, resolve
from openboxd.guest.agent.stream import Refusal, Stream
from openboxd.guest.agent.users import Acting, Users

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

BATCH = 100  # directory entries looked at in one go: each takes a system call or two
CHUNK = wire.MAX_PAYLOAD


class Put(Stream):
    """An upload: written without a name (or under a temporary one), named when it is whole."""

    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, int(request["window"]))
        self._users = users
        self._path = str(request["path"])
        self._size = int(request["size"])
        self._written = 0
        self._fd = -1
        self._temporary = ""

    def opened(self) -> None:
        with Acting(self._users.current()) as user:
            try:
                # Through symbolic links, as a write in place would go.
                self._target = os.path.realpath(resolve(self._path, user))
                self._mode = _writable_mode(self._target, self._path)
                self._directory = os.path.dirname(self._target)
                self._check_space()
                self._open()
            except OSError as error:
                raise refusal("write", self._path, error) from error
        self.control(accepted=True)

    def _check_space(self) -> None:
        room = os.statvfs(self._directory)
        free = room.f_bavail * room.f_frsize
        if self._size > free:
            text = f"cannot write '{self._path}': it has {self._size} bytes and {free} are free on its file system"
            raise Refusal("state", text)

    def _open(self) -> None:
        try:
            self._fd = os.open(self._directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if isinstance(error, PermissionError | FileNotFoundError):
                raise
            self._name_temporary()  # a file system without nameless files
            self._fd = os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)

    def _name_temporary(self) -> None:
        self._temporary = os.path.join(self._directory, f".boxd-upload-{os.urandom(8).hex()}")

    def on_data(self, kind: int, payload: bytes) -> None:
        self._written += len(payload)
        if self._written > self._size:
            raise Refusal("argument", f"more than the announced {self._size} bytes came for '{self._path}'")
        rest = memoryview(payload)
        with Acting(self._users.current()):  # root could use up the space that is reserved for it
            try:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            except OSError as error:
                raise refusal("write", self._path, error) from error
        self.confirm(len(payload))

    def on_eof(self, kind: int) -> None:
        if self._written != self._size:
            text = f"only {self._written} of the announced {self._size} bytes came for '{self._path}'"
            raise Refusal("argument", text)
        with Acting(self._users.current()):
            try:
                os.fchmod(self._fd, self._mode)
                if not self._temporary:
                    self._name_temporary()
                    # The descriptor for a directory makes Python follow the link to the nameless file.
                    os.link(f"/proc/self/fd/{self._fd}", self._temporary, src_dir_fd=self._fd)
                os.rename(self._temporary, self._target)
                self._temporary = ""
            except OSError as error:
                raise refusal("write", self._path, error) from error
        self.finish(size=self._written)

    def closed(self, epoch_over: bool) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._temporary:
            with Acting(self._users.current()):
                try:
                    os.unlink(self._temporary)
                except FileNotFoundError:
                    pass


def _writable_mode(target: str, path: str) -> int:
    """The mode for the new file: that of the one it replaces, which must be a file the user may write to."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(target)):
            raise Refusal("not_found", f"cannot write '{path}': its directory does not exist") from None
        if path.endswith("/"):
            raise Refusal("state", f"cannot write '{path}': is a directory") from None
        return 0o644
    if not stat.S_ISREG(found.st_mode):
        reason = "is a directory" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
        raise Refusal("state", f"cannot write '{path}': {reason}")
    if not os.access(target, os.W_OK, effective_ids=True):
        raise Refusal("state", f"cannot write '{path}': permission denied")
    return stat.S_IMODE(found.st_mode) & 0o777


class Get(Stream):
    """A download; a source of the link."""

    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, int(request["window"]))
        self._users = users
        self._path = str(request["path"])
        self._fd = -1
        self._sent = 0
        self._head = b""

    def opened(self) -> None:
        with Acting(self._users.current()) as user:
            try:
                # Without O_NONBLOCK, opening a pipe waits for a writer.
                self._fd = os.open(resolve(self._path, user), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                raise refusal("read", self._path, error) from error
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode):
            reason = "is a directory" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
            raise Refusal("state", f"cannot read '{self._path}': {reason}")
        self._head = self._read(CHUNK)
        # The size of files that the kernel makes up (/proc, /sys) is not what stat says.
        self._size = found.st_size if len(self._head) == CHUNK else len(self._head)
        self.control(size=self._size)
        self.link.offer(self)

    def _read(self, size: int) -> bytes:
        try:
            return os.read(self._fd, size)
        except OSError as error:
            raise refusal("read", self._path, error) from error

    def on_credit(self) -> None:
        self.link.offer(self)

    def produce(self) -> bool:
        if self.ended:
            return False
        try:
            return self._produce()
        except Refusal as error:
            self.refuse(error)
            return False

    def _produce(self) -> bool:
        # Of a file that grows meanwhile as much as was announced; of one without a size, all there is.
        left = self._size - self._sent if self._size else CHUNK
        if left == 0:
            self.finish(size=self._sent)
            return False
        if self.credit < CHUNK:
            return False
        data = self._head or self._read(min(CHUNK, left))
        self._head = b""
        if not data:
            if self._size:
                raise Refusal("state", f"'{self._path}' became shorter while it was read")
            self.finish(size=self._sent)
            return False
        self._sent += len(data)
        self.send_data(wire.DATA, data)
        return True

    def closed(self, epoch_over: bool) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Ls(Stream):
    """A directory's entries as lines of JSON, sorted by name; a source of the link."""

    def __init__(self, link: Link, ident: int, request: dict[str, Any], users: Users) -> None:
        super().__init__(link, ident, int(request["window"]))
        self._users = users
        self._path = str(request["path"])
        self._limit = int(request["limit"])
        self._next = 0
        self._rest = b""

    def opened(self) -> None:
        with Acting(self._users.current()) as user:
            try:
                self._directory = resolve(self._path, user)
                names = sorted(os.listdir(self._directory))
            except OSError as error:
                raise refusal("list", self._path, error) from error
        self._truncated = len(names) > self._limit
        self._names = names[: self._limit]
        self.link.offer(self)

    def on_credit(self) -> None:
        self.link.offer(self)

    def produce(self) -> bool:
        if self.ended or self.credit < CHUNK:
            return False
        if not self._rest and self._next < len(self._names):
            self._rest = self._batch()
        if not self._rest and self._next >= len(self._names):
            self.finish(truncated=self._truncated)
            return False
        data, self._rest = self._rest[:CHUNK], self._rest[CHUNK:]
        if data:
            self.send_data(wire.DATA, data)
        return True

    def _batch(self) -> bytes:
        names = self._names[self._next : self._next + BATCH]
        self._next += len(names)
        lines = []
        with Acting(self._users.current()):
            for name in names:
                try:
                    found = os.lstat(os.path.join(self._directory, name))
                except OSError:  # removed meanwhile
                    continue
                lines.append(_entry(name, found))
        return b"".join(lines)


def _entry(name: str, found: os.stat_result) -> bytes:
    is_dir = stat.S_ISDIR(found.st_mode)
    size = 0 if is_dir else found.st_size
    times = [int(found.st_mtime), int(found.st_ctime)]
    return json.dumps([name, is_dir, size, stat.filemode(found.st_mode), *times]).encode("ascii") + b"\n"
