"""A run: one QEMU process, driven over its monitor and watched by its pidfd."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence

from openboxd.errors import MachineLost, OperationFailed, OutcomeUnknown
from openboxd.host import pidfd
from openboxd.host.process import Process
from openboxd.model import SaveReport
from openboxd.ports import Plan, Report, RunEnd, RunState, SaveJob
from openboxd.qemu import stalls
from openboxd.qemu.plan import ram_bytes
from openboxd.qemu.qmp import Gone, Monitor, QmpError, Refused
from openboxd.qemu.rundir import RunDir
from openboxd.qemu.saving import COMMAND, Saving, savers_of
from openboxd.qemu.take import Order

_STATES = {"running": RunState.RUNNING, "inmigrate": RunState.LOADING}
_CLEAN = {
    "guest-shutdown": "the guest powered off",
    "host-qmp-quit": "QEMU was asked to quit",
}
_LAST_EVENTS = 1.0  # seconds for what QEMU said before its end to be read


class QemuRun:
    """Implements `ports.Run`."""

    def __init__(
        self,
        directory: RunDir,
        process: Process,
        monitor: Monitor,
        machine_id: str,
        plan: Plan,
        saver_command: Sequence[str] = COMMAND,
    ) -> None:
        self.run_id = directory.run_id
        self.machine_id = machine_id
        self.pid = process.pid
        self.plan = plan
        self.agent_socket = directory.agent
        self._directory = directory
        self._process = process
        self._monitor = monitor
        self._saver_command = saver_command
        self._killed = False
        self._ending: asyncio.Task[RunEnd] | None = None
        self._stalls: asyncio.Task[None] | None = None

    async def state(self) -> RunState:
        """What the vCPUs do now."""
        if not self._process.alive:
            return RunState.ENDED
        try:
            status = (await self._monitor.ask("query-status"))["status"]
        except QmpError as error:
            if not self._process.alive:
                return RunState.ENDED
            raise OutcomeUnknown(f"QEMU does not say what the machine does: {error}") from error
        return _STATES.get(status, RunState.PAUSED)

    async def resume(self) -> None:
        """Let the vCPUs run."""
        await self._order("cont")

    async def pause(self) -> None:
        """Pause the vCPUs."""
        await self._order("stop")

    async def powerdown(self) -> None:
        """Press the power button."""
        await self._order("system_powerdown")

    async def kill(self) -> None:
        """End the process now."""
        if self._stalls is not None:
            self._stalls.cancel()
        self._killed = True
        self._process.kill()
        await self._process.wait()
        await pidfd.kill_all(savers_of(self._directory))
        await self._monitor.close()
        self._directory.remove()

    async def ended(self) -> RunEnd:
        """Wait until the process has ended."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._watch_end())
        return await asyncio.shield(self._ending)

    def watch_stalls(self, told: stalls.Told, free: stalls.Free) -> None:
        """See stalls."""
        if self._stalls is not None:
            self._stalls.cancel()
        self._stalls = asyncio.create_task(stalls.watch(self._monitor, told, free), name=f"stalls of {self.run_id}")

    async def save(self, job: SaveJob, report: Report) -> SaveReport:
        """Write a capture of the running machine."""
        if not self._process.alive:
            raise self._lost()
        order = Order(ram_bytes(self.plan), self._process.pid, job.disk, job.staging, job.parent, job.paused)
        return await Saving(self._directory, self._monitor, self._process, self._saver_command).save(order, report)

    async def detach(self) -> None:
        """Close the daemon's connections."""
        if self._stalls is not None:
            self._stalls.cancel()
        if self._ending is not None:
            self._ending.cancel()
        await self._monitor.close()

    async def _order(self, command: str) -> None:
        try:
            await self._monitor.ask(command)
        except Refused as error:
            raise OperationFailed(f"QEMU refused: {error}") from error
        except Gone as error:
            if not self._process.alive:
                raise self._lost() from error
            raise OutcomeUnknown(f"the machine's QEMU cannot be reached: {error}") from error
        except QmpError as error:
            raise OutcomeUnknown(f"the machine's QEMU does not answer: {error}") from error

    def _lost(self) -> MachineLost:
        return MachineLost("the machine's run has ended; its disk and checkpoints are intact")

    async def _watch_end(self) -> RunEnd:
        status = await self._process.wait()
        try:
            async with asyncio.timeout(_LAST_EVENTS):
                await self._monitor.wait_closed()
        except TimeoutError:
            pass
        event = self._monitor.shutdown_event()
        reason = str(event["data"]["reason"]) if event else ""
        if reason in _CLEAN and not self._killed:
            return RunEnd(clean=True, text=_CLEAN[reason])
        return RunEnd(clean=False, text=self._why(status, reason))

    def _why(self, status: int | None, reason: str) -> str:
        if self._killed:
            return "it was killed on request"
        if status is not None and status < 0:
            return f"QEMU was killed by signal {-status}{_core_name(-status)}"
        words = self._directory.last_words()
        text = "QEMU ended" + (f" with status {status}" if status else "")
        detail = "; ".join(part for part in (f"reason {reason}" if reason else "", words) if part)
        return f"{text} ({detail})" if detail else text


def _core_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
