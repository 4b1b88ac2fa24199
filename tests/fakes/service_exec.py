"""Commands of the fake service: real ones, run on this host by `sh -c` in the fake machine's home directory."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import AsyncIterator
from pathlib import Path

from openboxd.errors import Interrupted, InvalidArgument
from openboxd.model import ExecOutput, ExecRequest

PIECE = 64 * 1024
KILL_AFTER = 0.5
REST = 10.0
"""Seconds for the output that an ended command has left, as whoever reads it may be slow."""
END = None


class LocalExec:
    """See ports.ExecSession."""

    def __init__(self, request: ExecRequest, home: Path) -> None:
        self.exit_code: int | None = None
        self.command = request.command
        self.sizes = [(request.cols, request.rows)]
        self.cancelled = asyncio.Event()
        self.stdin_closed = asyncio.Event()
        self._queue: asyncio.Queue[ExecOutput | BaseException | None] = asyncio.Queue(maxsize=4)
        self._tty = request.tty
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open(request, home)

    def _open(self, request: ExecRequest, home: Path) -> None:
        if request.tty:
            master, slave = pty.openpty()
            self._sources = {master: False}
            self._stdin: int | None = os.dup(master)
            self._winsize(request.cols, request.rows)
            ends = (slave, slave, slave)
        else:
            stdin, self._stdin = os.pipe()
            out, stdout = os.pipe()
            err, stderr = os.pipe()
            self._sources = {out: False, err: True}
            ends = (stdin, stdout, stderr)
        environ = {**os.environ, "HOME": str(home), "TERM": "dumb"}
        try:
            self.process = subprocess.Popen(
                ["sh", "-c", request.command],
                stdin=ends[0],
                stdout=ends[1],
                stderr=ends[2],
                cwd=home,
                env=environ,
                start_new_session=True,
            )
        except OSError as error:
            raise InvalidArgument(f"the command could not be started: {error.strerror}") from None
        finally:
            for end in set(ends):
                os.close(end)
        os.set_blocking(self._stdin, False)  # a command that does not read must not hold a thread

    def start(self) -> None:
        self._spawn(self._run())

    def _spawn(self, work) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self) -> None:
        readers = [self._spawn(self._read(fd, is_stderr)) for fd, is_stderr in self._sources.items()]
        code = await asyncio.to_thread(self.process.wait)
        # Background children may hold the pipes open; what is already in them still counts.
        await asyncio.wait(readers, timeout=0.1 if self.cancelled.is_set() else REST)
        for reader in readers:
            reader.cancel()
        self.exit_code = 128 - code if code < 0 else code
        await self._queue.put(END)

    async def _read(self, fd: int, is_stderr: bool) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=PIECE)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", 0)
        )
        try:
            while data := await reader.read(PIECE):
                await self._queue.put(ExecOutput(data, is_stderr))
        except OSError:
            pass  # a terminal whose last process is gone reports EIO instead of an end
        finally:
            transport.close()

    async def output(self) -> AsyncIterator[ExecOutput]:
        while (item := await self._queue.get()) is not END:
            if isinstance(item, BaseException):
                raise item
            yield item

    async def write(self, data: bytes) -> None:
        await asyncio.wait([self._spawn(self._write(data))])

    async def write_eof(self) -> None:
        self.stdin_closed.set()
        await asyncio.wait([self._spawn(self._write_eof())])

    async def _write(self, data: bytes) -> None:
        async with self._writing:
            try:
                if self._stdin is not None:
                    await _write_all(self._stdin, data)
            except OSError:  # nobody reads it any more
                self.stdin_closed.set()
                self._close_stdin()

    async def _write_eof(self) -> None:
        if self._tty:
            await self._write(b"\x04")
            return
        async with self._writing:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    async def resize(self, cols: int, rows: int) -> None:
        self.sizes.append((cols, rows))
        if self._tty:
            self._winsize(cols, rows)

    def _winsize(self, cols: int, rows: int) -> None:
        assert self._stdin is not None
        fcntl.ioctl(self._stdin, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    async def cancel(self) -> None:
        if self.cancelled.is_set():
            return
        self.cancelled.set()
        self._signal(signal.SIGTERM)
        self._spawn(self._kill_later())

    async def _kill_later(self) -> None:
        await asyncio.sleep(KILL_AFTER)
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    async def interrupt(self, reason: str) -> None:
        """What a restore does to a stream that is open."""
        self._signal(signal.SIGKILL)
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(Interrupted(reason))

    async def close(self) -> None:
        """End everything, for the end of a test."""
        self._signal(signal.SIGKILL)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._close_stdin()


async def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            await _writable(fd)


async def _writable(fd: int) -> None:
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_writer(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(fd)
