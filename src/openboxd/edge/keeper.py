"""A small process that holds what must not go away while no daemon is there: listening sockets, and Caddy.

    python -m openboxd.edge.keeper FD WAIT SOCKET

FD is a listening UNIX socket of packets, bound to SOCKET. A daemon that connects is sent every descriptor with its
name, then how many there were; afterwards it says what is to be kept and dropped. While no daemon is connected the
kernel queues those who come in. When none has come for WAIT seconds everything is closed, the processes among it are
ended, and so is this one.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

PACKET = 4096
"""Bytes of the longest message."""

PROCESS = "process:"
"""Descriptors whose name begins like this are pidfds of processes that end with us."""

LIMIT = 10.0
"""Seconds for a daemon to take what it is sent."""


class Keeper:
    """What is kept, and for whom."""

    def __init__(self, control: socket.socket, wait: float) -> None:
        self._control, self._wait = control, wait
        self._kept: dict[str, int] = {}
        self._daemons: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._over = False

    def run(self) -> None:
        """Until nobody has come for long enough, or a daemon says that none will."""
        alone_since = time.monotonic()
        while not self._over:
            left = alone_since + self._wait - time.monotonic()
            if not self._daemons and left <= 0:
                return
            ready = {key.fileobj for key, _ in self._selector.select(None if self._daemons else left)}
            for daemon in self._daemons & ready:
                self._listen(daemon)
            if self._control in ready:
                self._welcome()
            if self._daemons:
                alone_since = time.monotonic()

    def end(self) -> None:
        """Let go of everything."""
        for name, descriptor in self._kept.items():
            if name.startswith(PROCESS):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        self._kept.clear()

    def _welcome(self) -> None:
        for earlier in list(self._daemons):  # what one has said before it ended counts for the next
            while earlier in self._daemons and select.select([earlier], [], [], 0)[0]:
                self._listen(earlier)
        daemon, _ = self._control.accept()
        daemon.settimeout(LIMIT)
        with suppress(OSError):  # it has gone already; what it said before that counts
            for name, descriptor in self._kept.items():
                socket.send_fds(daemon, [json.dumps({"name": name}).encode()], [descriptor])
            daemon.send(json.dumps({"all": len(self._kept)}).encode())
        self._daemons.add(daemon)
        self._selector.register(daemon, selectors.EVENT_READ)

    def _listen(self, daemon: socket.socket) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(daemon, PACKET, 1)
        except OSError:
            message, descriptors = b"", []
        if not message:
            self._selector.unregister(daemon)
            self._daemons.discard(daemon)
            daemon.close()
            return
        told = json.loads(message)
        if told.get("end"):
            self._over = True
        elif "keep" in told and descriptors:
            self._drop(told["keep"])
            self._kept[told["keep"]] = descriptors.pop()
        elif "drop" in told:
            self._drop(told["drop"])
        for stray in descriptors:
            os.close(stray)

    def _drop(self, name: str) -> None:
        if name in self._kept:
            os.close(self._kept.pop(name))


def main(arguments: list[str]) -> None:
    """See the module."""
    control, wait, path = socket.socket(fileno=int(arguments[0])), float(arguments[1]), arguments[2]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    keeper = Keeper(control, wait)
    try:
        keeper.run()
    finally:
        with suppress(OSError):
            Path(path).unlink()  # before anything ends, so that a daemon that comes now begins anew
        keeper.end()


if __name__ == "__main__":
    main(sys.argv[1:])
