"""Reading a machine's console log while QEMU appends to it and housekeeping frees its beginning.

Freed parts are holes and would read as zeros. They only ever grow from the front, so what was read is checked
afterwards: whatever had become a hole by then is left out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from openboxd.errors import Interrupted
from openboxd.worker.housekeeping import CONSOLE_KEPT
from openboxd.worker.machine import MachineWorker

PIECE = 64 * 1024
LOOK_AGAIN = 0.25
"""Seconds between looks at a console that has said nothing: one fstat each."""


class Console:
    """The kept end of a console log, from the first byte that is still there."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._offset = max(0, self.size - CONSOLE_KEPT)

    @property
    def size(self) -> int:
        """Where the log ends now."""
        return os.fstat(self._file).st_size

    def read(self, end: int) -> bytes:
        """What comes next, before `end`; nothing once all has been read."""
        while self._offset < end:
            begin = self._first_data(self._offset)
            data = os.pread(self._file, min(PIECE, end - begin), begin) if begin < end else b""
            freed = self._first_data(begin) - begin
            self._offset = begin + len(data)
            if rest := data[freed:]:
                return rest
            if not data:
                self._offset = end
        return b""

    def _first_data(self, offset: int) -> int:
        """The first place from `offset` on that is no hole; the end of the log if there is none."""
        try:
            return os.lseek(self._file, offset, os.SEEK_DATA)
        except OSError:  # ENXIO: nothing but a hole up to the end
            return self.size

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


async def read_console(worker: MachineWorker, *, follow: bool) -> AsyncIterator[bytes]:
    """The last of a machine's console, and with `follow` what it says from then on until the machine is removed.

    Raises:
        Interrupted: the machine was restored meanwhile; what follows belongs to another past.
    """
    path, restores = worker.drivers.pool.machine_dir(worker.id) / "console.log", worker.restores
    while (console := await _open(path)) is None:
        if not follow or not worker.exists:
            return
        await asyncio.sleep(LOOK_AGAIN)
    try:
        end = console.size
        while True:
            while piece := await asyncio.to_thread(console.read, end):
                yield piece
            if not follow or not worker.exists:
                return
            if worker.restores != restores:
                raise Interrupted(f"machine '{worker.machine.name}' was restored; ask for its console again")
            if console.size == end:
                await asyncio.sleep(LOOK_AGAIN)
            end = console.size
    finally:
        console.close()


async def _open(path: Path) -> Console | None:
    try:
        return await asyncio.to_thread(Console, path)
    except FileNotFoundError:
        return None
