"""Descriptors that outlive this daemon: the daemon's side of `edge/keeper.py`.

Everything here is best effort: without the keeper the daemon works as well, only that clients are refused between one
daemon and the next.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from openboxd.edge.keeper import PACKET
from openboxd.host.files import make_directory
from openboxd.host.process import start_detached

SOCKET = "keeper.sock"
LIMIT = 10.0
"""Seconds for the keeper to answer."""

HASTE = 5.0
"""Seconds within which a keeper that ends is not worth starting again."""

log = logging.getLogger(__name__)


class Kept:
    """What the keeper holds. Without one (`wait` 0) nothing is ever there, and keeping is harmless.

    Args:
        directory: private, with a short path; one keeper for each.
        wait: seconds that the keeper waits for the next daemon.
    """

    def __init__(self, directory: Path, wait: float) -> None:
        self._path, self._wait = directory / SOCKET, wait
        self._keeper: socket.socket | None = None
        self._started = -HASTE  # when a keeper was started by us
        self._found: dict[str, int] = {}  # kept by an earlier daemon, and not taken yet
        self._own: dict[str, int] = {}  # copies of what is kept for us, for another keeper if this one is lost

    @property
    def works(self) -> bool:
        """There is a keeper."""
        return self._keeper is not None

    def names(self) -> Sequence[str]:
        """What was kept and nobody has taken yet."""
        return list(self._found)

    def take(self, name: str) -> int | None:
        """What was kept under this name, for the caller to close; it stays kept."""
        found = self._found.pop(name, None)
        if found is not None:
            self._own[name] = os.dup(found)
        return found

    def keep(self, name: str, descriptor: int) -> None:
        """Keep a copy of a descriptor, instead of what was kept under this name before."""
        if self._wait:
            self.drop(name)
            self._own[name] = os.dup(descriptor)
            self._tell({"keep": name}, [descriptor])

    def drop(self, name: str) -> None:
        """Let go of it; a socket listens no more, even if the keeper takes its time. Harmless twice."""
        known = [table.pop(name) for table in (self._own, self._found) if name in table]
        for descriptor in known:
            _end(descriptor)
        if known:
            self._tell({"drop": name})

    def sweep(self, kind: str) -> int:
        """Let go of what nobody has taken and whose name begins like this; how many."""
        left = [name for name in self._found if name.startswith(kind)]
        for name in left:
            self.drop(name)
        return len(left)

    # -- the connection

    async def open(self) -> None:
        """Find the keeper, or start one, and take over what it holds."""
        if not self._wait:
            return
        make_directory(self._path.parent)
        try:
            self._keeper = await asyncio.to_thread(self._connect) or self._start()
            self._found = await asyncio.to_thread(_received, self._keeper)
        except (OSError, ValueError) as error:
            log.warning("clients will not wait while this daemon is restarted: %s", error)
            self._hang_up()
            return
        asyncio.get_running_loop().add_reader(self._keeper, self._heard)

    def close(self, *, for_good: bool = False) -> None:
        """Leave everything to the next daemon; `for_good`: there will be none, so that clients are refused."""
        if for_good:
            self._tell({"end": True})
        self._hang_up()
        for table in (self._own, self._found):
            while table:
                os.close(table.popitem()[1])

    def _connect(self) -> socket.socket | None:
        keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        keeper.settimeout(LIMIT)
        try:
            keeper.connect(str(self._path))
        except (FileNotFoundError, ConnectionRefusedError):  # none, or one that was killed
            keeper.close()
            return None
        except BaseException:
            keeper.close()
            raise
        return keeper

    def _start(self) -> socket.socket:
        """It is given a socket that listens already, so nobody has to wait for it."""
        self._path.unlink(missing_ok=True)
        self._started = time.monotonic()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
            control.bind(str(self._path))
            self._path.chmod(0o600)
            control.listen(8)
            argv = [sys.executable, "-m", "openboxd.edge.keeper", str(control.fileno()), f"{self._wait:g}"]
            start_detached([*argv, str(self._path)], log=self._path.with_suffix(".log"), fds=[control.fileno()])
            keeper = self._connect()
        if keeper is None:
            raise ConnectionRefusedError("the keeper of listening sockets ended at once")
        return keeper

    def _tell(self, message: dict[str, object], descriptors: Sequence[int] = ()) -> None:
        if self._keeper is None:
            return
        try:
            socket.send_fds(self._keeper, [json.dumps(message).encode()], list(descriptors))
        except OSError:
            self._lost()

    def _lost(self) -> None:
        """The keeper has ended, which it never does by itself while we are there: give everything to another one."""
        self._hang_up()
        if time.monotonic() - self._started < HASTE:
            log.warning("clients will not wait while this daemon is restarted: the keeper of sockets ends at once")
            return
        log.warning("the keeper of listening sockets was lost; another one is started")
        try:
            self._keeper = self._start()
        except OSError as error:
            log.warning("clients will not wait while this daemon is restarted: %s", error)
            return
        asyncio.get_running_loop().add_reader(self._keeper, self._heard)
        for name, descriptor in [*self._own.items(), *self._found.items()]:
            self._tell({"keep": name}, [descriptor])

    def _heard(self) -> None:
        """One that was just started says that it has nothing; otherwise there is nothing to hear but its end."""
        assert self._keeper is not None
        with suppress(OSError):
            if self._keeper.recv(PACKET):
                return
        self._lost()

    def _hang_up(self) -> None:
        if self._keeper is not None:
            asyncio.get_running_loop().remove_reader(self._keeper)
            self._keeper.close()
            self._keeper = None


def _end(descriptor: int) -> None:
    if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        with socket.socket(fileno=descriptor) as listener, suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    else:
        os.close(descriptor)


def _received(keeper: socket.socket) -> dict[str, int]:
    """Everything that the keeper holds. Raises OSError; ValueError if it is not one of ours."""
    found: dict[str, int] = {}
    while True:
        message, descriptors, _, _ = socket.recv_fds(keeper, PACKET, 1)
        if not message:
            raise ConnectionResetError("the keeper of listening sockets has hung up")
        told = json.loads(message)
        if "all" in told:
            return found
        if descriptors:
            os.set_inheritable(descriptors[0], False)
            found[told["name"]] = descriptors[0]
