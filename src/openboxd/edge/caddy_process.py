"""Caddy's process and what it says: started, or taken over from the daemon before us.

With a keeper (`edge/keeper.py`) it outlives the daemon, so that people's connections to it stay and their requests
wait for the next daemon, which takes it over if it does exactly what is wanted now. Without one it ends with us.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openboxd.edge.caddy_config import Front, caddy_config
from openboxd.edge.keeper import PROCESS
from openboxd.edge.kept import Kept
from openboxd.host import pidfd
from openboxd.host.files import make_directory, write_atomic
from openboxd.host.process import Process, clean_environment
from openboxd.host.programs import find

_OURS = f"{PROCESS}caddy:"
_SAID = "caddy-said"
_STOP = 5.0
_LINE = 256 * 1024


@dataclass(frozen=True)
class Wanted:
    """What is to run: the program, and its configuration as it is written."""

    front: Front
    program: str

    @property
    def text(self) -> bytes:
        """The configuration."""
        return json.dumps(caddy_config(self.front), indent=1).encode()

    @property
    def name(self) -> str:
        """Under which name it is kept: another program or configuration has another one."""
        program = Path(self.program).stat()
        facts = f"{self.program} {program.st_size} {program.st_mtime_ns}".encode()
        return f"{_OURS}{hashlib.sha256(facts + self.text).hexdigest()[:32]}"


@dataclass(frozen=True)
class CaddyProcess:
    """One that runs, and the reading end of its stderr. `adopted`: an earlier daemon started it."""

    process: Process
    said: asyncio.StreamReader
    name: str
    adopted: bool
    _pipe: asyncio.ReadTransport

    async def leave(self, kept: Kept) -> None:
        """We are done: it goes on if somebody watches over it, else it ends. Harmless if it has ended."""
        self._pipe.close()
        if self.process.alive and kept.works:
            return
        for name in (self.name, _SAID):
            kept.drop(name)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.process.kill(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), _STOP)
                return


async def adopt(wanted: Wanted, kept: Kept) -> CaddyProcess | None:
    """The one that runs already, if it does what is wanted; any other is ended."""
    descriptor, said = kept.take(wanted.name), kept.take(_SAID)
    if descriptor is not None and said is not None and not pidfd.is_gone(descriptor):
        process = Process(pidfd.pid_of(descriptor), descriptor)
        return await _listening(process, said, wanted, adopted=True)
    for number in filter(None, (descriptor, said)):
        os.close(number)
    await end_others(kept)
    return None


async def end_others(kept: Kept) -> None:
    """End what an earlier daemon started and nobody wants any more."""
    for name in kept.names():
        if name.startswith(_OURS) and (descriptor := kept.take(name)) is not None:
            process = Process(pidfd.pid_of(descriptor), descriptor)
            process.kill()
            await process.wait()
            kept.drop(name)
    kept.drop(_SAID)


async def start(wanted: Wanted, directory: Path, kept: Kept) -> CaddyProcess:
    """Start it. Raises OSError; HostUnfit if a program is missing."""
    configuration = directory / "caddy.json"
    make_directory(wanted.front.storage)
    write_atomic(configuration, wanted.text)
    argv = [wanted.program, "run", "--config", str(configuration)]
    if not kept.works:
        argv = [find("setpriv"), "--pdeathsig", "KILL", "--", *argv]
    reading, writing = os.pipe()
    try:
        process = _spawn(argv, wanted.front, writing)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    descriptor = os.pidfd_open(process.pid)
    kept.keep(wanted.name, descriptor)
    kept.keep(_SAID, reading)
    os.close(descriptor)
    return await _listening(process, reading, wanted, adopted=False)


def _spawn(argv: Sequence[str], front: Front, stderr: int) -> Process:
    home = str(front.storage)
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        cwd=front.gates,
        env=clean_environment(os.environ) | {"HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home},
        start_new_session=True,
    )
    child.returncode = 0  # reaped by Process: Popen must neither wait for it nor warn about it
    return Process(child.pid, os.pidfd_open(child.pid))


async def _listening(process: Process, said: int, wanted: Wanted, *, adopted: bool) -> CaddyProcess:
    reader = asyncio.StreamReader(limit=_LINE)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(said, "rb", 0)
    )
    return CaddyProcess(process, reader, wanted.name, adopted, pipe)
