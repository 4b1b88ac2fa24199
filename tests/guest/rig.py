"""The real agent, run on this host from the very files that an image gets, and its channel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TypeVar

from openboxd.guest import payload
from openboxd.guest.connector import ChannelAgent, ChannelConnector, Questions
from openboxd.guest.timing import Timing

T = TypeVar("T")
LIMIT = 40.0
PYTHON = os.environ.get("BOXD_TEST_AGENT_PYTHON", sys.executable)  # what the agent runs on
FAST = Timing(first_wait=0.3, last_wait=1.0)
LABEL = "web"


def install(root: Path) -> Path:
    """Put the agent's files under `root`; the directory to start."""
    for file in payload.files().values():
        target = root / file.path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.symlink_to:
            target.symlink_to(file.symlink_to)
        else:
            target.write_bytes(file.data)
            target.chmod(file.mode)
    return root / payload.GUEST_ROOT.lstrip("/")


@dataclass
class Rig:
    """A directory with a user's home, an installed agent and its socket, all removed by `clean`."""

    base: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="boxd-rig-")))
    process: asyncio.subprocess.Process | None = None

    def __post_init__(self) -> None:
        self.base.chmod(0o755)  # the user has to get at its home
        self.home = self.base / "home"
        self.home.mkdir()
        self.program = install(self.base)
        self.socket = self.base / "agent.sock"
        self.ssh = self.base / "ssh"
        self.ssh.mkdir()
        self.keys = self.base / "keys"
        self.cli = self.base / "cli"
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        self.user, self.uid = account.pw_name, account.pw_uid
        if os.geteuid() == 0:
            os.chown(self.home, account.pw_uid, account.pw_gid)

    async def start(self, *port: str, fds: tuple[int, ...] = ()) -> None:
        """Start the agent, by default listening on `socket`."""
        self.socket.unlink(missing_ok=True)
        arguments = [*(port or ("--socket", str(self.socket))), "--user", self.user, "--home", str(self.home)]
        self.process = await asyncio.create_subprocess_exec(
            PYTHON,
            "-I",
            "-S",
            str(self.program),
            *arguments,
            "--ssh",
            str(self.ssh),
            "--keys",
            str(self.keys),
            "--cli",
            str(self.cli),
            "--gateway",
            str(self.base / "gateway"),
            "--no-clock",
            pass_fds=fds,
            stdout=asyncio.subprocess.DEVNULL,
        )
        if not port:
            await until(self.socket.exists)

    async def stop(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()

    async def connect(self, timing: Timing = FAST, questions: Questions | None = None) -> ChannelAgent:
        """The daemon's end, in step."""
        agent = await ChannelConnector(timing, questions).connect(self.socket, LABEL)
        await agent.wait_ready(LIMIT)
        return agent

    def commands(self) -> list[int]:
        """What the agent has started and still runs, known by its home."""
        mark, found = f"HOME={self.home}".encode(), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:  # gone, or not ours
                pass
        return found

    async def clean(self) -> None:
        await self.stop()
        for pid in self.commands():
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.base, ignore_errors=True)


async def until(condition: Callable[[], bool], limit: float = LIMIT) -> None:
    """Wait for something that nothing can be awaited for."""
    end = monotonic() + limit
    while not condition():
        assert monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


async def within(awaitable: Awaitable[T], limit: float = LIMIT) -> T:
    async with asyncio.timeout(limit):
        return await awaitable
