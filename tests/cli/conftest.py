"""The real command as a subprocess, against a real server over the fake service."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.api.server import serve
from openboxd.model import GIB
from tests.fakes.service import KEY, FakeService

LIMIT = 60
BOXD = Path(sys.executable).with_name("boxd")
OWN_TERMINAL = ("env", "--default-signal=INT", "setsid", "--ctty")
"""Ctrl-C counts there, even where whoever runs the tests ignores it."""


@dataclass
class Result:
    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self):
        """Exactly one document, or this fails."""
        return json.loads(self.out)


class Boxd:
    """Runs `boxd`."""

    def __init__(self, address: str, home: Path, key: str = KEY) -> None:
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "BOXD_BASE_URL": f"http://{address}",
            "BOXD_API_KEY": key,
        }

    async def start(self, *argv: str, by: Sequence[str] = (), stdin=asyncio.subprocess.DEVNULL, **options):
        """Start it, or the program `by` that becomes it: Python may not run in what is forked beside threads."""
        return await asyncio.create_subprocess_exec(
            *by,
            BOXD,
            *argv,
            stdin=stdin,
            stdout=options.pop("stdout", asyncio.subprocess.PIPE),
            stderr=options.pop("stderr", asyncio.subprocess.PIPE),
            env={**self.environ, **options.pop("env", {})},
            **options,
        )

    async def __call__(self, *argv: str, feed: bytes | None = None, **options) -> Result:
        if feed is not None:
            options["stdin"] = asyncio.subprocess.PIPE
        process = await self.start(*argv, **options)
        try:
            out, err = await asyncio.wait_for(process.communicate(feed), LIMIT)
        except TimeoutError:
            process.kill()
            raise AssertionError(f"{argv} did not end in {LIMIT} s") from None
        return Result(process.returncode, out or b"", (err or b"").decode())

    async def on_terminal(
        self, *argv: str, reply: bytes | Callable[[], None], until: bytes, **options
    ) -> tuple[int, bytes]:
        """Run on a terminal of its own; once `until` has been shown, type `reply`, or call it.

        The status, and all that was shown."""
        master, slave = pty.openpty()
        process = await self.start(*argv, by=OWN_TERMINAL, stdin=slave, stdout=slave, stderr=slave, **options)
        os.close(slave)
        shown = bytearray()
        typed = False
        try:
            async with asyncio.timeout(LIMIT):
                while piece := await _read(master):
                    shown += piece
                    if not typed and until in shown:
                        typed = True
                        if callable(reply):
                            reply()
                        else:
                            os.write(master, reply)
                return await process.wait(), bytes(shown)
        except TimeoutError:
            raise AssertionError(f"{argv} did not end in {LIMIT} s; shown: {bytes(shown)!r}") from None
        finally:
            if process.returncode is None:
                process.kill()
            os.close(master)


async def _read(master: int) -> bytes:
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(master, ready.set)
    try:
        await ready.wait()
        return os.read(master, 4096)
    except OSError:
        return b""  # the last process on the terminal is gone
    finally:
        loop.remove_reader(master)


@pytest.fixture
async def service(tmp_path):
    fake = FakeService(tmp_path / "fake")
    yield fake
    await fake.close()


@pytest.fixture
async def boxd(service, tmp_path):
    home = tmp_path / "user"
    home.mkdir()
    async with serve(service, "127.0.0.1:0") as address:
        yield Boxd(address, home)


@pytest.fixture
async def web(service):
    """A machine named web that runs, with the checkpoint `one`."""
    caller = service.authenticate(KEY)
    machine = await service.create_machine(caller, NewMachine(name="web", vcpu=2, memory_bytes=GIB))
    await service.until(lambda: service.machine(caller, "web").status == "running")
    await service.save_checkpoint(caller, "web", "one")
    await service.checkpoint_done(caller, "web", "one")
    return machine
