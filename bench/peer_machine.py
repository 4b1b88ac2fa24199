"""The same guest in a QEMU of its own: loaded from one of our captures, with a qcow2 disk or RAM that is not a file.

What other tools do with QEMU is tried on this, so that guest, host, QEMU and load are the same for all.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openboxd.guest.connector import ChannelAgent, ChannelConnector
from openboxd.host.process import Process, start_detached
from openboxd.images import cmdline
from openboxd.model import ExecRequest, Size
from openboxd.ports import RunSpec
from openboxd.qemu.arguments import Handles, arguments
from openboxd.qemu.qmp import Monitor
from openboxd.qemu.rundir import RunDir, listen

LIMIT = 300.0
"""Seconds for anything that a peer does."""


@dataclass(frozen=True)
class Origin:
    """A capture of ours and what belongs to it.

    Attributes:
        capture: its directory.
        image: directory of the image, for kernel and initrd.
        machine_id, name, address: whose it is.
    """

    capture: Path
    image: Path
    machine_id: str
    name: str
    address: str

    @property
    def plan(self) -> Mapping[str, Any]:
        """The hardware."""
        plan: Mapping[str, Any] = json.loads((self.capture / "manifest.json").read_text())["plan"]
        return plan


class PeerMachine:
    """A running QEMU. `directory` is short: its sockets are in it."""

    def __init__(self, directory: RunDir, process: Process, monitor: Monitor) -> None:
        self.directory, self.process, self.monitor = directory, process, monitor
        self.agent: ChannelAgent | None = None

    @classmethod
    async def start(cls, origin: Origin, place: Path, disk: Mapping[str, Any], *, ram_of: Path | None) -> PeerMachine:
        """Start QEMU, paused, waiting for a state; its RAM is a private mapping of `ram_of`, or plain memory."""
        directory = RunDir(place / secrets.token_hex(6))
        directory.make({"machine_id": origin.machine_id, "plan": dict(origin.plan)})
        spec = _spec(origin, directory)
        with ExitStack() as stack:
            paths = (directory.monitor, directory.saver_monitor, directory.agent)
            numbers = [stack.enter_context(listen(path)).fileno() for path in paths]
            handles = Handles(*numbers, directory.pidfile, str(uuid.uuid4()))
            argv = arguments("qemu-system-x86_64", spec, origin.plan, handles, ram_of)
            argv[argv.index("-blockdev") + 1] = json.dumps({"node-name": "disk", **disk})
            argv += [] if ram_of else ["-incoming", "defer", "-S"]
            process = start_detached(argv, log=directory.log, fds=numbers)
        return cls(directory, process, await Monitor.connect(directory.monitor, directory.run_id, 30))

    async def load(self, state: Path) -> None:
        """Load a migration stream, connect the agent and let the guest go on."""
        await self.reconnect()
        address = {"transport": "file", "filename": str(state), "offset": 0}
        await self.ask("migrate-incoming", {"channels": [{"channel-type": "main", "addr": address}]})
        await self.until_migrated()
        await self.ask("cont")

    async def until_migrated(self) -> None:
        """Until the migration, in or out, has been completed."""
        async with asyncio.timeout(LIMIT):
            while (status := (await self.ask("query-migrate")).get("status")) != "completed":
                assert status != "failed", self.directory.last_words()
                assert self.process.alive, self.directory.last_words()
                await asyncio.sleep(0.002)
            while True:  # the very last step of QEMU comes after it has said that it is done
                if (await self.ask("query-status"))["status"] != "inmigrate":
                    return
                await asyncio.sleep(0.002)

    async def reconnect(self) -> None:
        """A new channel to the agent, as after a restore."""
        if self.agent is not None:
            await self.agent.close("the guest was taken back")
        self.agent = await ChannelConnector().connect(self.directory.agent, "peer")

    async def sh(self, command: str) -> str:
        """Run a shell line in the guest; its stdout."""
        assert self.agent is not None
        await self.agent.wait_ready(LIMIT)
        session = await self.agent.exec(ExecRequest(command))
        await session.write_eof()
        said = b"".join([piece.data async for piece in session.output() if not piece.is_stderr])
        return said.decode()

    async def ask(self, command: str, values: dict[str, object] | None = None) -> Any:
        """Run a monitor command."""
        return await self.monitor.ask(command, values, LIMIT)

    async def end(self) -> None:
        """Kill it and remove its directory."""
        if self.agent is not None:
            await self.agent.close("the measurement is over")
        self.process.kill()
        await self.process.wait()
        await self.monitor.close()
        self.directory.remove()


def _spec(origin: Origin, directory: RunDir) -> RunSpec:
    return RunSpec(
        run_id=directory.run_id,
        machine_id=origin.machine_id,
        name=origin.name,
        size=Size(int(origin.plan["vcpus"]), int(origin.plan["ram_bytes"])),
        disk=origin.capture / "disk.raw",
        kernel=origin.image / "vmlinuz",
        initrd=origin.image / "initrd",
        cmdline=cmdline(origin.name, origin.machine_id),
        console=directory.path / "console.log",
        address=origin.address,
        mac="52:54:00:00:00:01",
        plan=origin.plan,
    )
