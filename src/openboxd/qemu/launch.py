"""Starts QEMU, detached, with sockets of ours; and takes everything back if it does not come up."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openboxd.errors import OperationFailed
from openboxd.host.process import Process, start_detached
from openboxd.ports import Plan, RunSpec
from openboxd.qemu.arguments import Handles, arguments
from openboxd.qemu.qmp import Monitor, QmpError
from openboxd.qemu.rundir import RunDir, listen

_UP = 30.0  # seconds for QEMU to greet: it takes 70 ms, but the host may be in trouble


class Launch:
    """A QEMU that is coming up."""

    def __init__(self, directory: RunDir, process: Process) -> None:
        self.directory = directory
        self.process = process
        self.monitor: Monitor | None = None

    @classmethod
    def start(cls, program: str, directory: RunDir, spec: RunSpec, plan: Plan, memory: Path | None = None) -> Launch:
        """Start the process. Raises OperationFailed; then nothing is left."""
        try:
            directory.make(_record(spec, plan))
        except FileExistsError as error:
            raise OperationFailed(f"run {spec.run_id} exists already") from error
        try:
            with ExitStack() as stack:
                sockets = [stack.enter_context(listen(path)) for path in _sockets(directory)]
                numbers = [one.fileno() for one in sockets]
                monitor, saver_monitor, agent = numbers
                handles = Handles(monitor, saver_monitor, agent, directory.pidfile, str(uuid.uuid4()))
                argv = arguments(program, spec, plan, handles, memory)
                tap = [spec.link.tap] if spec.link and spec.link.tap >= 0 else []
                return cls(directory, start_detached(argv, log=directory.log, fds=[*numbers, *tap]))
        except OSError as error:
            directory.remove()
            raise OperationFailed(f"machine {spec.name} could not be started: {error.strerror or error}") from error
        except BaseException:
            directory.remove()
            raise

    async def connect(self) -> Monitor:
        """The daemon's monitor, once QEMU greets. Raises OperationFailed with what QEMU said if it ends instead."""
        greeting = asyncio.ensure_future(Monitor.connect(self.directory.monitor, self.directory.run_id, _UP))
        ending = asyncio.ensure_future(self.process.wait())
        try:
            await asyncio.wait({greeting, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not greeting.done():
                raise self.failure(ending.result())
            self.monitor = greeting.result()
            return self.monitor
        except QmpError as error:
            raise self.failure() from error
        finally:
            for task in (greeting, ending):
                task.cancel()
            await asyncio.wait({greeting, ending})

    def failure(self, status: int | None = None) -> OperationFailed:
        """QEMU's own words on why it did not come up; else its exit status, if it has ended."""
        killed = f"it was killed by signal {-status}" if status is not None and status < 0 else ""
        return OperationFailed(f"QEMU did not start: {self.directory.last_words() or killed or 'it gave no reason'}")

    async def discard(self) -> None:
        """Take everything back."""
        self.process.kill()
        await self.process.wait()
        if self.monitor is not None:
            await self.monitor.close()
        self.directory.remove()


def _sockets(directory: RunDir) -> Sequence[Path]:
    return (directory.monitor, directory.saver_monitor, directory.agent)


def _record(spec: RunSpec, plan: Plan) -> dict[str, Any]:
    words = {key: str(value) for key, value in asdict(spec).items() if key in ("machine_id", "name")}
    return {**words, "plan": dict(plan)}
