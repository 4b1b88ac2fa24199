"""The process that commands of guests are born from: it has loaded the program, so that one starts in milliseconds.

The daemon starts it, and asks for a command with one packet: a JSON object, and descriptors for stdin, stdout,
stderr and for what the daemon is told. Once the command has ended, a line of "=" and its status goes out on the last
of them. When the daemon goes, so does this process, and with it the commands.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKET = 128 * 1024
CONTROL = 3
"""The descriptor on which a command tells the daemon something."""

WHOLE = ("openboxd.cli", "openboxd.client", "openboxd.wire", "rich", "click")
NEVER = ("generate", "__main__", "_win", "_windows", "jupyter", "diagnose")
"""Modules that are programs of their own, or another system's."""
LATER = ("concurrent.futures.thread", "encodings.idna", "unicodedata", "traceback", "shlex")
"""What is otherwise loaded on first use, when there are no files any more."""


def main() -> None:
    """Serve the daemon until it goes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load()
    Nursery(control).run()


def load() -> None:
    """Load whatever a command may use."""
    for name in WHOLE:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.rpartition(".")[2].startswith(NEVER):
                importlib.import_module(module.name)
    for name in LATER:
        importlib.import_module(name)


class Nursery:
    """Makes commands and tells how they ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._running: dict[int, tuple[int, int]] = {}  # by pidfd: pid, and where the status goes
        self._count = 0

    def run(self) -> None:
        """Until the daemon has gone."""
        while True:
            for fd, _ in self._poll.poll():
                if fd != self._control.fileno():
                    self._ended(fd)
                elif not self._take():
                    self._end_all()
                    return

    def _take(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, PACKET, 8)
        if not data:
            return False
        job = json.loads(data)
        self._count += 1
        pid = os.fork()
        if pid == 0:
            self._control.close()
            _become(job, descriptors, self._count)
        pidfd = os.pidfd_open(pid)
        self._running[pidfd] = (pid, os.dup(descriptors[3]))
        self._poll.register(pidfd, select.POLLIN)
        self._answer(pidfd)
        for fd in descriptors:
            os.close(fd)
        return True

    def _answer(self, pidfd: int) -> None:
        """The daemon gets a handle of its own on the process, to end it by."""
        handle = array.array("i", [pidfd])
        self._control.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handle)])

    def _ended(self, pidfd: int) -> None:
        pid, report = self._running.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        try:
            os.write(report, b"=%d\n" % (code if code >= 0 else 128 - code))
        except OSError:  # nobody wants to know any more
            pass
        os.close(report)

    def _end_all(self) -> None:
        for pidfd in self._running:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def _become(job: dict[str, Any], descriptors: Sequence[int], number: int) -> None:
    """In the new process: be the command. Never returns."""
    status = 125
    try:
        _take_streams(job, descriptors)
        from openboxd.cli.inside import run, sandbox

        sandbox.enter(Path(job["root"]), number)
        status = run.run(job)
        with contextlib.suppress(OSError):  # told here too, as the process that tells it may end before
            os.write(CONTROL, b"=%d\n" % status)
    except OSError as error:
        # What stderr is good for: it is the guest's, and it says nothing of this host.
        text = f"error: this host does not let commands of machines run ({error.strerror}); use the API instead\n"
        os.write(2, text.encode())
    except BaseException as error:
        os.write(2, f"error: the command failed unexpectedly: {type(error).__name__}\n".encode())
    finally:
        os._exit(status)


def _take_streams(job: dict[str, Any], descriptors: Sequence[int]) -> None:
    os.setsid()
    terminals = [fd for fd, is_terminal in zip(descriptors, job["tty"], strict=False) if is_terminal]
    if terminals:
        fcntl.ioctl(terminals[0], termios.TIOCSCTTY, 0)
    # Out of the way first: any of them may have a number that another one is to have.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in descriptors]
    for target, fd in enumerate(moved):
        os.dup2(fd, target)
    os.closerange(CONTROL + 1, 1 << 20)
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(job["env"])
