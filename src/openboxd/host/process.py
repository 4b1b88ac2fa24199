"""A long-lived process of ours that outlives the daemon: started detached, watched by pidfd, reaped if a child.

The same class stands for a process we started and for one an earlier daemon started (not our child then, so its
exit status cannot be known).
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from openboxd.host import pidfd as pidfds

CLEAN_NAMES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV")
"""What a process of ours gets of our environment: nothing that could be a secret."""


class Process:
    """One process. Must be made inside a running loop; it is reaped as soon as it ends."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self._status: int | None = None
        self._end = asyncio.Event()
        asyncio.get_running_loop().add_reader(pidfd, self._reap)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self._end.is_set() and not pidfds.is_gone(self._pidfd)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal it; harmless if it is gone."""
        if not self._end.is_set():
            pidfds.send(self._pidfd, number)

    async def wait(self) -> int | None:
        """Until it has ended: its exit status, minus the number of the signal that killed it, or None if unknown."""
        await self._end.wait()
        return self._status

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        with suppress(ChildProcessError):  # not our child, or another object for it was faster
            result = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)
            if result is not None:
                exited = result.si_code == os.CLD_EXITED
                self._status = result.si_status if exited else -result.si_status
            os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED)
        os.close(self._pidfd)
        self._end.set()


def start_detached(argv: Sequence[str], *, log: Path, fds: Sequence[int] = (), stdout: int | None = None) -> Process:
    """Start a program in a session of its own, with no descriptor but `fds`, `stdout` and its log.

    It is not ended when we end, dumps no core, makes private files only, and its stderr is appended to `log`.

    Raises:
        OSError: it could not be started.
    """
    with open_log(log) as error:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=error if stdout is None else stdout,
            stderr=error,
            close_fds=True,
            pass_fds=fds,
            start_new_session=True,
            umask=0o077,
            cwd="/",
            env=clean_environment(os.environ),
        )
    process = Process(child.pid, os.pidfd_open(child.pid))
    child.returncode = 0  # reaped by Process: Popen must neither wait for it nor warn about it
    with suppress(ProcessLookupError):
        resource.prlimit(child.pid, resource.RLIMIT_CORE, (0, 0))
    return process


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The few variables that a process of ours needs."""
    return {name: environ[name] for name in CLEAN_NAMES if name in environ}


@contextmanager
def open_log(path: Path) -> Iterator[int]:
    """A descriptor that appends to a private file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
