"""One command of a guest: its process, its streams, and what it tells."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import secrets
import shutil
import signal
import socket
import struct
import termios
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from openboxd.api.inside_nursery import Child, Nursery
from openboxd.api.inside_wire import Frames, Start
from openboxd.errors import Interrupted, InvalidArgument, Unavailable
from openboxd.host.descriptors import readable

HANG_UP = int(signal.SIGHUP)
PATIENCE, LONG_PATIENCE = 10.0, 120.0
"""Seconds that a command gets to end itself once nobody hears it any more; the second for one that may have to take
its machine back first."""

KEPT_OUTPUT = 64 * 1024
"""Bytes of output that a command which outlives a restore may leave for who comes back: the last ones."""

CHUNK = 16 * 1024
KEPT_OVER = b"R"
STATUS, GUARDS, GUARDED = b"=", b"R", b"D"
"""Lines that are told of a command: its status, of which the first counts; by a guard the checkpoint it is about to
save, and how the guarded command ended."""
REFUSED = 125
"""The status of a command that could not do its work."""
TOLD_LIMIT = 4096
SOCKET = "api.sock"
SEED = 4096

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection of a command to the API."""

Noted = Callable[[str, int | None], Awaitable[None]]
"""Told what a guard tells: its checkpoint, and the status of the guarded command once it is known. Raises OSError."""

log = logging.getLogger(__name__)


class Run:
    """See the module. `frames` is the guest's side, None while nobody listens; `status` comes last."""

    def __init__(self, ident: str, machine_id: str, frames: Frames | None, noted: Noted) -> None:
        self.id, self.machine_id, self.frames = ident, machine_id, frames
        self.kept_over = False
        self._noted = noted
        self._checkpoint = ""
        self.status: int | None = None
        self.ended = asyncio.Event()
        self._child: Child | None = None
        self._stdin = -1
        self._terminal = -1
        self._open = asyncio.Event()  # its streams are there, or are not there any more
        self._emptied = asyncio.Event()
        self._unheard: list[tuple[bytes, bytes]] = []
        self._given_up = False

    # -- what the guest's side does
    async def feed(self, data: bytes) -> None:
        """Bytes for stdin; waits while it is full, and drops them if nobody reads it."""
        await self._open.wait()
        view = memoryview(data)
        while view and self._stdin >= 0:
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await self._wait_for_room(self._stdin)
            except OSError:
                self._close_stdin()

    async def _wait_for_room(self, fd: int) -> None:
        loop = asyncio.get_running_loop()
        self._emptied.clear()
        loop.add_writer(fd, self._emptied.set)
        try:
            await self._emptied.wait()
        finally:
            if fd == self._stdin:  # else it is closed, and the number may be somebody else's
                loop.remove_writer(fd)

    async def feed_end(self) -> None:
        """The end of stdin."""
        await self._open.wait()
        if self._stdin == self._terminal:
            await self.feed(b"\x04")
        else:
            self._close_stdin()

    def resize(self, size: tuple[int, int]) -> None:
        """The terminal's columns and rows."""
        if self._terminal >= 0:
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def signal(self, number: int) -> None:
        """Harmless when it is over, or has not begun."""
        if self._child is not None:
            self._child.signal(number)

    def known(self) -> None:
        """The guest's side knows how to ask for this run after a restore."""
        if self.kept_over:
            self.signal(signal.SIGUSR1)

    def keep_over(self) -> None:
        """It goes on whoever hears it, and is carried out anew if it was before."""
        self.kept_over, self._given_up = True, False

    def give_up(self) -> None:
        """Nobody hears it any more: it is asked to end, and killed a little later."""
        self._given_up = True
        self.signal(HANG_UP)
        patience = LONG_PATIENCE if self.kept_over else PATIENCE
        asyncio.get_running_loop().call_later(patience, self.signal, int(signal.SIGKILL))

    async def catch_up(self, frames: Frames) -> None:
        """What was said while nobody listened."""
        while self._unheard:
            await frames.write(*self._unheard.pop(0))

    def end(self) -> None:
        """There will be no more."""
        self._open.set()
        self.ended.set()

    # -- its process
    async def carry_out(self, nursery: Nursery, root: Path, name: str, start: Start, api: Serve) -> None:
        """From its start to its end; nothing is left of it."""
        async with AsyncExitStack() as stack:
            await _socket(stack, root, api)
            theirs, outputs = self._streams(stack, start)
            self._open.set()
            job = {
                "root": str(root),
                "name": name,
                "machine_id": self.machine_id,
                "args": start.args,
                "directory": start.directory,
                "superuser": start.superuser,
                "tty": start.terminals,
                "env": {"LANG": "C.UTF-8", "GRPC_VERBOSITY": "NONE"} | dict(start.env),
            }
            try:
                child = self._child = await nursery.begin(job, theirs)
            except (Unavailable, InvalidArgument) as error:
                await self._say(b"X", f"error: {error.message}\n".encode())
                return
            stack.callback(self._forget_child, child)
            _close_all(theirs)
            if self._given_up:
                self.give_up()
            async with asyncio.TaskGroup() as work:
                work.create_task(self._listen(child.told))
                for fd, kind in outputs.items():
                    work.create_task(self._pump(fd, kind))

    def _streams(self, stack: AsyncExitStack, start: Start) -> tuple[list[int], dict[int, bytes]]:
        """The command's ends of its streams, to be closed once it has them, and our ends of its output."""
        theirs: list[int] = []
        stack.callback(_close_all, theirs)
        outputs: dict[int, bytes] = {}
        slave = -1
        if any(start.terminals):
            self._terminal, slave = os.openpty()
            self.resize(start.size)
            stack.callback(self._close_terminal)
            outputs[self._terminal] = b"O" if start.terminals[1] else b"X"
        for number, is_terminal in enumerate(start.terminals):
            if is_terminal:
                theirs.append(slave)
            elif number == 0:
                read, self._stdin = os.pipe2(os.O_CLOEXEC)
                stack.callback(self._close_stdin)
                theirs.append(read)
            else:
                ours, write = os.pipe2(os.O_CLOEXEC)
                stack.callback(os.close, ours)
                outputs[ours] = b"OX"[number - 1 : number]
                theirs.append(write)
        if start.terminals[0]:
            self._stdin = self._terminal
        for fd in {self._stdin, *outputs}:
            os.set_blocking(fd, False)
        return theirs, outputs

    def _forget_child(self, child: Child) -> None:
        child.signal(int(signal.SIGKILL))
        self._child = None
        child.close()

    def _close_stdin(self) -> None:
        fd = self._stdin
        if fd >= 0 and fd != self._terminal:
            self._forget_stdin()
            os.close(fd)

    def _forget_stdin(self) -> None:
        """Whoever waits for room learns that there will be none."""
        asyncio.get_running_loop().remove_writer(self._stdin)
        self._stdin = -1
        self._emptied.set()

    def _close_terminal(self) -> None:
        if self._stdin == self._terminal:
            self._forget_stdin()
        os.close(self._terminal)
        self._terminal = -1

    async def _listen(self, told: int) -> None:
        """What the command tells, line by line, then its status."""
        text = b""
        while data := await _read(told):
            *lines, text = (text[-TOLD_LIMIT:] + data).split(b"\n")
            for line in lines:
                await self._heed(line[:1], line[1:].decode("ascii", "replace"))

    async def _heed(self, kind: bytes, content: str) -> None:
        if kind == STATUS and self.status is None:
            self.status = int(content)
        elif kind == GUARDS and not self.kept_over:
            await self._guards(content)
        elif kind == GUARDED and self._checkpoint and content.isdecimal():
            try:
                await self._noted(self._checkpoint, int(content))
            except OSError as error:  # the guard itself knows, and does what is left to be done
                log.warning("machine %s: the end of a guarded command was not noted: %s", self.machine_id, error)

    async def _guards(self, checkpoint: str) -> None:
        """A promise that would not outlive this daemon is not made; the guard waits for an answer before it saves."""
        try:
            await self._noted(checkpoint, None)
        except OSError as error:
            log.warning("machine %s: a guard could not be noted: %s", self.machine_id, error)
            text = f"error: the host could not note this guard ({error.strerror}); nothing was run; try again later\n"
            await self._say(b"X", text.encode())
            self.status = REFUSED
            self.signal(int(signal.SIGKILL))
            return
        self.kept_over, self._checkpoint = True, checkpoint
        await self._say(KEPT_OVER, self.id.encode())

    async def _pump(self, fd: int, kind: bytes) -> None:
        while data := await _read(fd):
            await self._say(kind, data)

    async def _say(self, kind: bytes, data: bytes) -> None:
        """To the guest; while nobody listens, the end of it is kept for who comes back."""
        if self.frames is not None:
            with suppress(Interrupted):
                await self.frames.write(kind, data)
                return
        if self.kept_over:
            self._unheard.append((kind, data))
            while sum(len(each) for _, each in self._unheard) > KEPT_OUTPUT:
                self._unheard.pop(0)


async def _socket(stack: AsyncExitStack, root: Path, api: Serve) -> None:
    """The command's whole world: a directory with a socket to the API."""
    stack.callback(shutil.rmtree, root, ignore_errors=True)
    server = await asyncio.start_unix_server(api, sock=_listener(root))
    stack.callback(server.close)


def _listener(root: Path) -> socket.socket:
    root.mkdir(mode=0o700)
    # gRPC insists on a file to seed its generators of no importance from. No device: one does not work everywhere.
    (root / "dev").mkdir()
    (root / "dev/urandom").write_bytes(secrets.token_bytes(SEED))
    for path, mode in ((root / "dev/urandom", 0o444), (root / "dev", 0o755)):
        path.chmod(mode)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o111)  # the command is nobody; who gets here is decided by the directories above its root
    try:
        listener.bind(str(root / SOCKET))
    finally:
        os.umask(before)
    root.chmod(0o755)
    return listener


def _close_all(descriptors: list[int]) -> None:
    for fd in set(descriptors):
        os.close(fd)
    descriptors.clear()


async def _read(fd: int) -> bytes:
    """The next bytes; none at the end."""
    while True:
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            await readable(fd)
        except OSError:  # a terminal whose other end is closed
            return b""
