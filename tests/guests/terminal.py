"""A command on a terminal of its own, typed to and read from."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import time
from pathlib import Path


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, argv: list[str | Path], env: dict[str, str], rows: int, cols: int) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            self._size(0, rows, cols)
            os.execve(argv[0], argv, env)
        self.shown = bytearray()

    @staticmethod
    def _size(descriptor: int, rows: int, cols: int) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def resize(self, rows: int, cols: int) -> None:
        """The kernel tells the command."""
        self._size(self.master, rows, cols)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def until(self, wanted: str, limit: float = 60) -> None:
        """Until this has been shown after what was waited for last."""
        end = time.monotonic() + limit
        while wanted.encode() not in self.shown:
            assert select.select([self.master], [], [], max(0, end - time.monotonic()))[0], self.shown
            self.shown += os.read(self.master, 4096)
        del self.shown[: self.shown.index(wanted.encode()) + len(wanted)]

    def end(self) -> int:
        """Its exit status."""
        try:
            while os.read(self.master, 4096):
                pass
        except OSError:  # the last process on the terminal is gone
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
