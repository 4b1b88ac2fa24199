"""The machine's SSH host key and its certificate, which the host makes and signs.

The agent asks at the beginning of every epoch, telling which certificate it has; it is answered with a key pair and a
certificate if it has another one (a new machine, a fork) or none. A restored machine has its own already.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openboxd.guest.agent.textfiles import read, replace

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

DIRECTORY = "/etc/ssh"
KEY = "ssh_host_ed25519_key"
PIDFILE = "/run/sshd.pid"
LATER = 2.0  # seconds until sshd is looked for again: it may just be starting with what was there before
TRIES = 60


class HostKey:
    """Keeps the host key in step with the host's."""

    def __init__(self, directory: str = DIRECTORY, pidfile: str = PIDFILE) -> None:
        self._directory = directory
        self._pidfile = pidfile

    def ask(self, link: Link, done: Callable[[], None] = lambda: None) -> None:
        """Begin of an epoch; `done` is called when the key is the machine's, or cannot be had."""
        certificate = read(os.path.join(self._directory, f"{KEY}-cert.pub"))

        def answered(result: dict[str, Any]) -> None:
            self._take(link, result)
            done()

        link.request({"op": "identity", "certificate": certificate}, answered)

    def _take(self, link: Link, result: dict[str, Any]) -> None:
        if "key" not in result:
            return
        for name, text, mode in (
            (KEY, result["key"], 0o600),
            (f"{KEY}.pub", result["public"], 0o644),
            (f"{KEY}-cert.pub", result["certificate"], 0o644),  # last: with it, the pair is whole
        ):
            replace(os.path.join(self._directory, name), str(text), mode)
        self._reload(link, TRIES)

    def _reload(self, link: Link, tries: int) -> None:
        """sshd reads its keys when it starts. It is told once it says that it listens; sessions are not disturbed."""
        pid = read(self._pidfile).strip()
        if pid.isdigit() and read(f"/proc/{pid}/comm").strip().startswith("sshd"):
            os.kill(int(pid), signal.SIGHUP)
        elif tries:
            link.loop.after(LATER, lambda: self._reload(link, tries - 1))
