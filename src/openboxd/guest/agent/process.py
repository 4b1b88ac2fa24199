"""A started command: learning of its end, and ending it."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

from openboxd.guest.agent.loop import Loop, Timer

KILL_AFTER = 2.0  # seconds between SIGTERM and SIGKILL


class Process:
    """A child that leads a session of its own.

    Its exit is seen through a pidfd. While it is being killed it stays unreaped, so that its number, which is
    also that of its group and session, cannot be given to a stranger before the SIGKILL.
    """

    def __init__(self, loop: Loop, pid: int, exited: Callable[[int], None]) -> None:
        self.pid = pid
        self.running = True
        self._loop = loop
        self._exited = exited
        try:
            self._fd = os.pidfd_open(pid)
        except OSError:  # no descriptor left: a child that cannot be watched must not be
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        self._last_blow: Timer | None = None
        loop.watch(self._fd, select.EPOLLIN, self._ended)

    def kill(self) -> None:
        """SIGTERM now, SIGKILL a little later, to everything in the session. Harmless twice, or when it is gone."""
        if self._fd >= 0 and self._last_blow is None:
            self._signal(signal.SIGTERM)
            self._last_blow = self._loop.after(KILL_AFTER, self._finish_off)

    def _finish_off(self) -> None:
        self._signal(signal.SIGKILL)
        self._last_blow = None
        if not self.running:
            self._reap()

    def _signal(self, number: signal.Signals) -> None:
        for group in _groups(self.pid):
            try:
                os.killpg(group, number)
            except (ProcessLookupError, PermissionError):
                pass

    def _ended(self, _events: int) -> None:
        state = os.waitid(os.P_PIDFD, self._fd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return
        self._loop.forget(self._fd)
        self.running = False
        if self._last_blow is None:
            self._reap()
        self._exited(state.si_status if state.si_code == os.CLD_EXITED else 128 + state.si_status)

    def _reap(self) -> None:
        os.waitid(os.P_PIDFD, self._fd, os.WEXITED | os.WNOHANG)
        os.close(self._fd)
        self._fd = -1


def _groups(session: int) -> set[int]:
    """The process groups of a session: a shell with job control makes one for each job."""
    groups = {session}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stat:
                    _state, _parent, group, its_session = stat.read().rpartition(b")")[2].split()[:4]
            except OSError:
                continue
            if int(its_session) == session:
                groups.add(int(group))
    return groups
