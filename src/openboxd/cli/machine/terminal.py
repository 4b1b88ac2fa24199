"""The local terminal of an interactive session: raw for its time, and always put back."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

ENDINGS = (signal.SIGTERM, signal.SIGHUP)


def size() -> tuple[int, int]:
    """Columns and rows of the terminal, 80 by 24 without one."""
    for fd in (1, 0, 2):
        with suppress(OSError):
            found = os.get_terminal_size(fd)
            return found.columns or 80, found.lines or 24
    return 80, 24


@contextmanager
def raw(fd: int) -> Iterator[None]:
    """Hand every key to the other side, Ctrl-C too. Without a terminal this does nothing.

    Signals that would end the process without unwinding it cancel the current task instead, so that the terminal
    is put back in every case but SIGKILL.
    """
    if not os.isatty(fd):
        yield
        return
    before = termios.tcgetattr(fd)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    try:
        # Not the default TCSAFLUSH: what was typed while we connected is for the other side.
        tty.setraw(fd, termios.TCSANOW)
        for number in ENDINGS:
            loop.add_signal_handler(number, lambda: task and task.cancel())
        yield
    finally:
        for number in ENDINGS:
            loop.remove_signal_handler(number)
        # Not TCSADRAIN: output may never drain on a terminal that is gone.
        with suppress(termios.error):
            termios.tcsetattr(fd, termios.TCSANOW, before)


@contextmanager
def following_size(resize: Callable[[int, int], Awaitable[None]]) -> Iterator[None]:
    """Pass every change of the terminal's size on."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def tell() -> None:
        await resize(*size())

    def changed() -> None:
        task = loop.create_task(tell())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    loop.add_signal_handler(signal.SIGWINCH, changed)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
        for task in tasks:
            task.cancel()


def both_are_terminals() -> bool:
    """A person sits at stdin and stdout."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()
