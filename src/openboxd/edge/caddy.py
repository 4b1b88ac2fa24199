"""Caddy as a child of the daemon: started, watched, started again, and never without the daemon.

If it is missing, refuses its configuration or cannot have its ports, everything but HTTPS goes on, `problem` says so,
and it is tried again until it works.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from openboxd.edge.caddy_config import LABEL, Front, caddy_config, socket_of
from openboxd.errors import BoxdError, HostUnfit
from openboxd.host.files import make_directory, write_atomic
from openboxd.host.process import clean_environment
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
_LINE = 256 * 1024


class Caddy:
    """Keeps one Caddy running. `ready` is set while it serves; `problem` is a sentence while it does not.

    Args:
        front: what it is to do.
        directory: a private directory for its configuration file.
        program: name or path of Caddy.
    """

    def __init__(self, front: Front, directory: Path, *, program: str = "caddy", pauses: tuple[float, ...] = PAUSES):
        self.front = front
        self.ready = asyncio.Event()
        self.problem = "Caddy is being started"
        self.pid = 0
        self._directory = directory
        self._program = program
        self._pauses = pauses
        self._last_words = ""
        self._loaded = asyncio.Event()

    async def keep_running(self) -> None:
        """Until cancelled; then it is ended."""
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
        program, setpriv = find(self._program), find("setpriv")
        for address in (self.front.https, self.front.http):
            _check_free(address)
        make_directory(self.front.storage)
        configuration = self._directory / "caddy.json"
        write_atomic(configuration, json.dumps(caddy_config(self.front), indent=1).encode())
        home = str(self.front.storage)
        process = await asyncio.create_subprocess_exec(
            setpriv,
            *("--pdeathsig", "KILL", "--", program, "run", "--config", str(configuration)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE,
            cwd=self.front.gates,
            env=clean_environment(os.environ) | {"HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home},
            start_new_session=True,
        )
        self.pid, self._last_words = process.pid, ""
        announcing = asyncio.create_task(self._announce())
        try:
            await self._listen_to(process)
            status = await process.wait()
        finally:
            announcing.cancel()
            self.ready.clear()
            self._loaded.clear()
            self.pid = 0
            await _end(process)
        raise HostUnfit(f"Caddy ended with status {status}: {self._last_words or 'it said nothing'}")

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

    async def _listen_to(self, process: asyncio.subprocess.Process) -> None:
        """Read what it says, until it ends."""
        assert process.stderr is not None
        while True:
            try:
                line = await process.stderr.readline()
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


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, then make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), _STOP)


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
