"""Caddy, watched over: started or taken over, started again when it ends.

If it is missing, refuses its configuration or cannot have its ports, everything but HTTPS goes on, `problem` says so,
and it is tried again until it works.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.edge.caddy_config import LABEL, Front, socket_of
from openboxd.edge.caddy_process import Wanted, adopt, start
from openboxd.edge.kept import Kept
from openboxd.errors import BoxdError, HostUnfit
from openboxd.host.programs import find

log = logging.getLogger(__name__)

PAUSES = (0.2, 1.0, 3.0, 10.0, 30.0)
"""Seconds before it is started again, the longer the more often it ended in a row."""

STEADY = 60.0
"""Seconds after which one that runs counts as well."""

_NAME = re.compile(rf"(?:{LABEL}\.)+{LABEL}")
_READY = "serving initial configuration"
_PROBE = 0.05
_STOP = 5.0


class Caddy:
    """Keeps one Caddy running. `ready` is set while it serves; `problem` is a sentence while it does not.

    Args:
        front: what it is to do.
        directory: a private directory for its configuration file.
        program: name or path of Caddy.
        kept: where it outlives this daemon; it ends with us without.
    """

    def __init__(
        self,
        front: Front,
        directory: Path,
        *,
        program: str = "caddy",
        pauses: tuple[float, ...] = PAUSES,
        kept: Kept | None = None,
    ) -> None:
        self.front = front
        self.ready = asyncio.Event()
        self.problem = "Caddy is being started"
        self.pid = 0
        self._directory = directory
        self._program = program
        self._pauses = pauses
        self._kept = kept or Kept(directory, 0)
        self._last_words = ""
        self._loaded = asyncio.Event()

    async def keep_running(self) -> None:
        """Until cancelled; then it is left to its keeper, or ended."""
        failures = 0
        while True:
            began = time.monotonic()
            try:
                await self._run()
            except (BoxdError, OSError) as error:
                self._report(error.message if isinstance(error, BoxdError) else str(error))
            failures = 0 if time.monotonic() - began > STEADY else failures
            await asyncio.sleep(self._pauses[min(failures, len(self._pauses) - 1)])
            failures += 1

    def _report(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("HTTPS does not work, everything else goes on: %s", problem)
        self.problem = problem

    async def _run(self) -> None:
        """Once, until it ends by itself. Raises HostUnfit or OSError with the reason, always."""
        wanted = Wanted(self.front, find(self._program))
        caddy = await adopt(wanted, self._kept)
        if caddy is None:
            for address in (self.front.https, self.front.http):
                _check_free(address)
            caddy = await start(wanted, self._directory, self._kept)
        self.pid, self._last_words = caddy.process.pid, ""
        announcing = asyncio.create_task(self._announce())
        try:
            if caddy.adopted:
                self._loaded.set()
            await self._listen_to(caddy.said)
            status = await caddy.process.wait()
        finally:
            announcing.cancel()
            self.ready.clear()
            self._loaded.clear()
            self.pid = 0
            await caddy.leave(self._kept)
        end = "ended" if status is None else f"ended with status {status}"
        raise HostUnfit(f"Caddy {end}: {self._last_words or 'it said nothing'}")

    async def _announce(self) -> None:
        """It serves when a handshake succeeds: its own certificate is made after it has begun to listen."""
        await self._loaded.wait()
        serves = self.front.is_public  # then there is none until somebody asks
        while not serves:
            serves = await asyncio.to_thread(_handshake, self.front)
            await asyncio.sleep(0 if serves else _PROBE)
        self.problem = ""
        self.ready.set()
        log.info("HTTPS is served at %s for *.%s", self.front.https, self.front.zone)

    async def _listen_to(self, said: asyncio.StreamReader) -> None:
        """Read what it says, until it ends."""
        while True:
            try:
                line = await said.readline()
            except ValueError:  # longer than we care for
                continue
            if not line:
                return
            self._hear(line.decode(errors="replace").strip())

    def _hear(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = line
        if not isinstance(entry, dict):
            self._last_words = line[-500:]
            return
        message = str(entry.get("msg", ""))
        if message == _READY:
            self._loaded.set()
        if entry.get("level") in ("error", "fatal", "panic"):
            self._last_words = f"{message} {entry.get('error', '')}".strip()[-500:]
            log.warning("caddy: %s: %s", entry.get("logger", ""), self._last_words)


@asynccontextmanager
async def running(caddy: Caddy) -> AsyncIterator[Caddy]:
    """Keep it running while the block runs."""
    task = asyncio.create_task(caddy.keep_running(), name="caddy")
    try:
        yield caddy
    finally:
        task.cancel()
        await asyncio.wait([task])


def _handshake(front: Front) -> bool:
    """Whether a client that trusts our root gets through."""
    host, _, port = front.https.rpartition(":")
    context = ssl.create_default_context(cafile=str(front.root))
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_STOP) as connection:
            context.wrap_socket(connection, server_hostname=f"www.{front.zone}").close()
    except OSError:
        return False
    return True


def _check_free(address: str) -> None:
    """Caddy would share a port with another Caddy of the same user, without a word. Raises HostUnfit."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
            probe.listen(1)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise HostUnfit(
                f"{address} cannot be listened on ({reason.lower()}); free it or choose another"
            ) from error


def certificate_wanted(front: Front) -> Callable[[str], bool]:
    """Whether there is, now, anything behind a name: only then is a certificate made for it."""
    suffix = f".{front.zone}"

    def wanted(name: str) -> bool:
        if name in front.domains or (front.api and name == f"app{suffix}"):
            return True
        if not _NAME.fullmatch(name):
            return False
        file = name.removesuffix(suffix) if name.endswith(suffix) else socket_of(name)
        return (front.gates / file).is_socket()

    return wanted
