"""Processes by descriptor: a pidfd names one process for ever, a pid only until it is used again."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Argv = Sequence[str]


@dataclass(frozen=True)
class Found:
    """A process that matched: its pid, an open pidfd that the finder must close, and its arguments."""

    pid: int
    pidfd: int
    argv: Argv


def find(match: Callable[[Argv], bool]) -> list[Found]:
    """All living processes whose arguments match, each with an open pidfd."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and match(arguments_of(int(entry.name))):
            process = _open(int(entry.name), match)
            if process is not None:
                found.append(process)
    return found


def arguments_of(pid: int) -> Argv:
    """The arguments of a process; empty if it is gone or a zombie."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return os.fsdecode(raw).split("\0")[:-1]


def _open(pid: int, match: Callable[[Argv], bool]) -> Found | None:
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return None
    argv = arguments_of(pid)  # read again: only now can the pid not mean another process any more
    if not match(argv):
        os.close(pidfd)
        return None
    return Found(pid, pidfd, argv)


def send(pidfd: int, number: signal.Signals) -> None:
    """Signal the process; harmless if it is gone."""
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass


def pid_of(pidfd: int) -> int:
    """The pid of the process, -1 if it has ended and was reaped."""
    lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def is_gone(pidfd: int) -> bool:
    """Whether the process has ended (it may still be a zombie)."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


async def wait_gone(pidfd: int) -> None:
    """Until the process has ended. The caller keeps and closes the descriptor."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    watch = os.dup(pidfd)  # the loop knows a descriptor once only; others may wait for the same process
    loop.add_reader(watch, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(watch)
        os.close(watch)


async def kill_all(found: Sequence[Found]) -> None:
    """SIGKILL, wait until they are gone, close their pidfds."""
    try:
        for process in found:
            send(process.pidfd, signal.SIGKILL)
        for process in found:
            await wait_gone(process.pidfd)
    finally:
        for process in found:
            os.close(process.pidfd)
