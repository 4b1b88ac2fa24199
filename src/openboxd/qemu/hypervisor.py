"""QEMU as the worker's hypervisor: boots, loads, finds and adopts runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from openboxd.errors import OperationFailed
from openboxd.host import pidfd
from openboxd.host.process import Process
from openboxd.model import Accelerator, Size
from openboxd.ports import Plan, Run, RunSpec
from openboxd.qemu.accel import Accelerators
from openboxd.qemu.facts import Facts, find_facts
from openboxd.qemu.launch import Launch
from openboxd.qemu.memory_image import MEMORY
from openboxd.qemu.plan import check_plan, plan_machine
from openboxd.qemu.qmp import Monitor, QmpError
from openboxd.qemu.rescue import cancel_migration
from openboxd.qemu.run import QemuRun
from openboxd.qemu.rundir import RunDir, is_run_id
from openboxd.qemu.saving import COMMAND, savers_of, uncancelled
from openboxd.qemu.take import STATE
from openboxd.settings import Settings

_LOAD = 120.0  # seconds for the state of a capture; it takes 30 ms, but a cold disk may be slow
_AGENT = 1.0  # seconds for QEMU to accept the connection that `connect` made

Connect = Callable[[Path], Any]


class QemuHypervisor:
    """Implements `ports.Hypervisor`."""

    def __init__(
        self,
        settings: Settings,
        trial_kernel: Callable[[], Path | None] = lambda: None,
        saver_command: Sequence[str] = COMMAND,
    ) -> None:
        """`trial_kernel` gives a kernel with which KVM can be tried (an image's vmlinuz), or None so far."""
        self._program = settings.qemu
        self._run_dir = settings.run_dir
        self._accelerators = Accelerators(settings.home, settings.accel)
        self._trial_kernel = trial_kernel
        self._saver_command = saver_command
        self._facts: Facts | None = None

    async def check(self) -> None:
        """Raises HostUnfit with the remedy if QEMU is missing, too old or unusable."""
        self._facts = None
        await self._known()

    async def version(self) -> str:
        """QEMU's version."""
        return (await self._known()).version

    async def accelerator(self) -> Accelerator:
        """Which accelerator runs guests and why."""
        return await self._accelerators.find(await self._known(), self._trial_kernel())

    async def plan(self, size: Size) -> Plan:
        """The hardware of a machine of this size that is booted now."""
        return plan_machine(await self._known(), await self.accelerator(), size)

    async def boot(self, spec: RunSpec) -> Run:
        """Start a run that boots its disk."""
        facts = await self._known()
        accelerator = await self._accelerators.find(facts, spec.kernel)
        plan = spec.plan
        if plan is None:
            plan = plan_machine(facts, accelerator, spec.size)
        else:
            check_plan(plan, accelerator)
        launch = Launch.start(facts.program, self._directory(spec.run_id), spec, plan)
        try:
            return self._run(launch, await launch.connect(), spec)
        except BaseException:
            await uncancelled(launch.discard())
            raise

    async def load(self, spec: RunSpec, capture: Path, connect: Connect) -> Run:
        """Start a run from a capture, loaded and paused."""
        facts = await self._known()
        if spec.plan is None:
            raise OperationFailed("a capture cannot be loaded without its plan")
        check_plan(spec.plan, await self._accelerators.find(facts, spec.kernel))
        directory = self._directory(spec.run_id)
        launch = Launch.start(facts.program, directory, spec, spec.plan, capture / MEMORY)
        try:
            monitor = await launch.connect()
            await connect(directory.agent)
            await _agent_connected(monitor)
            await _load_state(launch, monitor, capture / STATE)
            return self._run(launch, monitor, spec)
        except BaseException:
            await uncancelled(launch.discard())
            raise

    async def leftovers(self) -> Sequence[str]:
        """Ids of all runs of this home whose process is alive."""
        found = pidfd.find(lambda argv: self._run_of(argv) is not None)
        for process in found:
            os.close(process.pidfd)
        return sorted({run_id for process in found if (run_id := self._run_of(process.argv)) is not None})

    async def sweep(self) -> int:
        """Remove the directories of runs whose process is gone."""
        alive = set(await self.leftovers())
        paths = self._run_dir.iterdir() if self._run_dir.is_dir() else ()
        ended = [RunDir(path) for path in paths if is_run_id(path.name) and path.name not in alive]
        for directory in ended:
            directory.remove()
        return len(ended)

    async def adopt(self, run_id: str) -> Run | None:
        """Take over a run from an earlier daemon."""
        found = pidfd.find(lambda argv: self._run_of(argv) == run_id)
        directory = self._directory(run_id)
        if not found:
            return None
        process = Process(found[0].pid, found[0].pidfd)
        for other in found[1:]:
            os.close(other.pidfd)
        await pidfd.kill_all(savers_of(directory))
        monitor = None
        try:
            record = directory.read_record()
            monitor = await Monitor.connect(directory.monitor, run_id)
            await cancel_migration(monitor)
        except (OSError, ValueError, QmpError) as error:
            if monitor is not None:
                await monitor.close()
            if not process.alive:
                return None
            raise OperationFailed(f"run {run_id} is alive but cannot be adopted: {error}") from error
        return QemuRun(directory, process, monitor, record["machine_id"], record["plan"], self._saver_command)

    async def end(self, run_id: str) -> None:
        """End a run's process whether or not it can be adopted."""
        directory = self._directory(run_id)
        await pidfd.kill_all(savers_of(directory))
        await pidfd.kill_all(pidfd.find(lambda argv: self._run_of(argv) == run_id))
        directory.remove()

    async def _known(self) -> Facts:
        if self._facts is None:
            self._facts = await find_facts(self._program)
        return self._facts

    def _directory(self, run_id: str) -> RunDir:
        if not is_run_id(run_id):
            raise OperationFailed("a run's id is 12 hexadecimal digits")
        return RunDir(self._run_dir / run_id)

    def _run(self, launch: Launch, monitor: Monitor, spec: RunSpec) -> QemuRun:
        plan = launch.directory.read_record()["plan"]
        return QemuRun(launch.directory, launch.process, monitor, spec.machine_id, plan, self._saver_command)

    def _run_of(self, argv: Sequence[str]) -> str | None:
        """The run of this home whose QEMU has these arguments."""
        for word, value in pairwise(argv):
            path = Path(value)
            if word == "-pidfile" and path.parent.parent == self._run_dir and is_run_id(path.parent.name):
                return path.parent.name
        return None


async def _agent_connected(monitor: Monitor) -> None:
    """Until QEMU has accepted the agent's connection: state loaded before would find nobody at the port."""
    try:
        async with asyncio.timeout(_AGENT):
            while True:
                for device in await monitor.ask("query-chardev"):
                    if device["label"] == "agent" and not device["filename"].startswith("disconnected:"):
                        return
                await asyncio.sleep(0.001)
    except TimeoutError:
        pass  # the channel makes up for it by connecting again


async def _load_state(launch: Launch, monitor: Monitor, state: Path) -> None:
    """Load the devices' state; the run is paused then. Raises OperationFailed with QEMU's reason."""
    events = [{"capability": "events", "state": True}]
    address = {"transport": "file", "filename": str(state), "offset": 0}
    try:
        with monitor.listen("MIGRATION") as changes:
            await monitor.ask("migrate-set-capabilities", {"capabilities": events})
            await monitor.ask("migrate-incoming", {"channels": [{"channel-type": "main", "addr": address}]})
            async with asyncio.timeout(_LOAD):
                await _until_loaded(launch, monitor, changes)
    except TimeoutError as error:
        raise OperationFailed(f"the capture did not load within {_LOAD:.0f} s") from error
    except QmpError as error:
        raise await _load_failure(launch, error) from error


async def _until_loaded(launch: Launch, monitor: Monitor, changes: Any) -> None:
    ending = asyncio.ensure_future(launch.process.wait())
    try:
        while True:
            event = asyncio.ensure_future(changes.get())
            await asyncio.wait({event, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not event.done():
                event.cancel()
                raise await _load_failure(launch, None)
            status = event.result()["data"]["status"]
            if status == "failed":
                raise await _load_failure(launch, None)
            if status == "completed":
                break
    finally:
        ending.cancel()
    while True:
        now = await monitor.ask("query-status")
        if now["status"] != "inmigrate":  # the very last step of QEMU comes after its event
            break
        await asyncio.sleep(0.0005)
    if now["running"]:
        await monitor.ask("stop")


async def _load_failure(launch: Launch, error: QmpError | None) -> OperationFailed:
    """QEMU's reason. It says it in its log and ends, so the end is waited for."""
    try:
        async with asyncio.timeout(2):
            await launch.process.wait()
    except TimeoutError:
        pass
    reason = launch.directory.last_words() or (str(error) if error else "QEMU gave no reason")
    return OperationFailed(f"the capture does not load: {reason}")
