"""A hypervisor over a FakeHost. Captures are real directories, guests are FakeGuests.

Every call passes named points. At each, in this order, a dead daemon stops (`switch`), the test's `fault` may raise,
and the call waits if the test holds the point (`host.hold`).
"""

from __future__ import annotations

import asyncio
import errno
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openboxd.errors import BoxdError, HostUnfit, MachineLost, OperationFailed, OutcomeUnknown, WrongState
from openboxd.host import digests
from openboxd.host.reflink import copy_file
from openboxd.model import Accelerator, Progress, SaveReport, Size
from openboxd.ports import Plan, Report, RunEnd, RunSpec, RunState, SaveJob
from tests.fakes.guest import Corrupt, FakeGuest
from tests.fakes.host import FakeHost, FakeProcess
from tests.fakes.killing import DaemonKilled, Switch

POINTS = (
    "boot",  # nothing has happened yet
    "booted",  # the guest runs; a failure here takes it back
    "load",
    "load connect",  # the process listens; before the host end connects
    "load state",  # before the state is read
    "loaded",  # paused and ready; a failure here takes it back
    "save memory",  # the guest runs
    "save pause",
    "save disk",  # the vCPUs are paused
    "save resume",  # still paused: the disk is cloned
    "save sync",  # the guest runs again
    "state",
    "resume",
    "pause",
    "powerdown",
    "kill",
    "adopt",
    "leftovers",
)
"""Names for `fault` and `FakeHost.hold`."""

MEMORY_LIMIT = 16 << 20
"""Bytes at the start of memory.img that the guest's memory may take; the rest is a hole."""

Fault = Callable[[str], None]


def no_fault(point: str) -> None:
    """Nothing fails on purpose."""


class FakeHypervisor:
    """See ports.Hypervisor. One instance is one daemon's; `unfit` makes `check` refuse."""

    def __init__(self, host: FakeHost, fault: Fault = no_fault, switch: Switch | None = None) -> None:
        self.host = host
        self.fault = fault
        self.switch = switch or Switch()
        self.unfit = ""

    async def at(self, point: str) -> None:
        """One of POINTS is reached."""
        assert point in POINTS, point
        self.switch.check()
        self.fault(point)
        await self.host.wait_at(point)
        self.switch.check()

    async def check(self) -> None:
        if self.unfit:
            raise HostUnfit(self.unfit)

    async def accelerator(self) -> Accelerator:
        return Accelerator(self.host.accelerator, "the fake host has nothing else")

    async def version(self) -> str:
        return "10.0.2"

    async def plan(self, size: Size) -> Plan:
        return _plan(size)

    async def boot(self, spec: RunSpec) -> FakeRun:
        await self.at("boot")
        for file in (spec.disk, spec.kernel, spec.initrd):
            if not file.exists():
                raise OperationFailed(f"machine '{spec.name}' did not start: {file.name} is missing")
        process = self.host.new_process(spec, _plan(spec.size))

        async def start() -> None:
            process.take_guest(FakeGuest(spec.disk), RunState.RUNNING)
            with spec.console.open("a") as console:
                console.write(f"booted {process.guest.memory.boot_id}\n")
            await self.at("booted")

        return await self._started(process, start)

    async def load(self, spec: RunSpec, capture: Path, connect: Callable[[Path], Any]) -> FakeRun:
        await self.at("load")
        if spec.plan is None:
            raise OperationFailed("a capture loads only into its plan")
        process = self.host.new_process(spec, dict(spec.plan))

        async def start() -> None:
            await self.at("load connect")
            await connect(process.socket)
            await self.at("load state")
            process.take_guest(_guest_of(spec, capture), RunState.PAUSED)
            await self.at("loaded")

        return await self._started(process, start)

    async def _started(self, process: FakeProcess, start: Callable[[], Any]) -> FakeRun:
        """Carry `start` out; if it fails nothing is left, unless the daemon itself is dead."""
        try:
            await start()
        except DaemonKilled:
            raise
        except BaseException as error:
            process.exit(False, "its start failed")
            if isinstance(error, BoxdError) or not isinstance(error, Exception):
                raise
            raise OperationFailed(f"machine '{process.spec.name}' did not start: {error}") from error
        return FakeRun(self, process)

    async def leftovers(self) -> Sequence[str]:
        await self.at("leftovers")
        return [process.spec.run_id for process in self.host.alive()]

    async def sweep(self) -> int:
        return 0

    async def adopt(self, run_id: str) -> FakeRun | None:
        await self.at("adopt")
        process = self.host.processes.get(run_id)
        if process is None or process.end is not None:
            return None
        if process.hung:
            raise OperationFailed(f"run {run_id} is alive but cannot be adopted")
        process.saving = False
        return FakeRun(self, process)

    async def end(self, run_id: str) -> None:
        await self.at("kill")
        process = self.host.processes.get(run_id)
        if process is not None:
            process.exit(False, "QEMU was killed by signal 9")


class FakeRun:
    """See ports.Run: one daemon's hold on a FakeProcess."""

    def __init__(self, hypervisor: FakeHypervisor, process: FakeProcess) -> None:
        self.process = process
        self.run_id = process.spec.run_id
        self.machine_id = process.spec.machine_id
        self.pid = process.pid
        self.plan: Plan = process.plan
        self.agent_socket = process.socket
        self.detached = False
        self._hypervisor = hypervisor

    async def _ask(self, point: str) -> None:
        """Something is asked of QEMU's monitor."""
        await self._hypervisor.at(point)
        if self.process.hung:
            raise OutcomeUnknown(f"QEMU of machine '{self.process.spec.name}' does not answer; ask for its status")

    async def state(self) -> RunState:
        if self.process.end is None:
            await self._ask("state")
        return self.process.state

    def watch_stalls(self, told: Callable[[bool], None], free: Callable[[], int]) -> None:
        self.process.stall = told

    async def resume(self) -> None:
        await self._ask("resume")
        self._must_live()
        assert self.process.state is not RunState.LOADING, "resumed before the state was loaded"
        self.process.set_state(RunState.RUNNING)

    async def pause(self) -> None:
        await self._ask("pause")
        self._must_live()
        self.process.set_state(RunState.PAUSED)

    async def powerdown(self) -> None:
        await self._ask("powerdown")
        self._must_live()
        if not self.process.ignores_power_button:
            asyncio.get_running_loop().call_soon(self.process.exit, True, "the guest shut down")

    async def kill(self) -> None:
        await self._hypervisor.at("kill")
        self.process.exit(False, "QEMU was killed by signal 9")

    async def ended(self) -> RunEnd:
        await self.process.until(lambda: self.process.end is not None)
        assert self.process.end is not None
        self._hypervisor.switch.check()
        return self.process.end

    async def detach(self) -> None:
        self.detached = True

    def _must_live(self) -> None:
        if self.process.end is not None:
            raise MachineLost(f"machine '{self.process.spec.name}' is gone: {self.process.end.text}")

    # -- save

    async def save(self, job: SaveJob, report: Report) -> SaveReport:
        self._must_live()
        assert not self.process.saving, "two saves of one run at a time"
        self.process.saving = True
        try:
            return await self._save(job, report)
        except BoxdError:
            self._must_live()
            raise
        except Exception as error:
            self._must_live()
            name = self.process.spec.name
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise WrongState(f"the checkpoint of machine '{name}' was not saved: no space is left") from error
            raise OperationFailed(f"the checkpoint of machine '{name}' was not saved: {error}") from error
        finally:
            if not self._hypervisor.switch.dead:
                self.process.saving = False

    async def _save(self, job: SaveJob, report: Report) -> SaveReport:
        begun, at = time.monotonic(), self._hypervisor.at
        if any(job.staging.iterdir()) or not self.process.guest.disk.is_at(job.disk):
            raise OperationFailed("the staging directory is not empty, or the disk is not this run's")
        if job.paused is (self.process.state is RunState.RUNNING):
            raise OperationFailed("its vCPUs are not as they were said to be")
        known = _memory_of(job.parent) if job.parent else {}
        report(Progress("save", "memory", 0.0))
        await at("save memory")
        await asyncio.to_thread(self.process.guest.disk.sync)
        memory, pause_us = await self._stopped(job)
        await at("save sync")
        await asyncio.to_thread(digests.take, job.staging, ("memory.img", "devices.state", "disk.raw"), job.parent)
        self._must_live()
        changed = {key: value for key, value in memory.items() if known.get(key) != value}
        report(Progress("save", "memory", 1.0))
        return SaveReport(
            pause_us=pause_us,
            seen_bytes=len(json.dumps(memory)),
            written_bytes=len(json.dumps(changed)),
            duration_ms=math.ceil(1000 * (time.monotonic() - begun)),
        )

    async def _stopped(self, job: SaveJob) -> tuple[dict[str, Any], int]:
        """The instant: stop, memory, devices and disk, resume; the memory and the length of the pause."""
        at, process = self._hypervisor.at, self.process
        before = process.state
        try:
            await at("save pause")
            self._must_live()
            process.set_state(RunState.PAUSED)
            paused = time.monotonic()
            memory = process.guest.captured_memory()
            _write(job.staging / "memory.img", memory, process.plan["size"]["memory_bytes"])
            _write(job.staging / "devices.state", process.plan)
            await at("save disk")
            self._must_live()
            copy_file(job.disk, job.staging / "disk.raw")
            await at("save resume")
        finally:
            # A dead daemon resumes nothing: its guest is left as it is, for adoption to find.
            if not self._hypervisor.switch.dead:
                process.set_state(before)
        return memory, math.ceil(1_000_000 * (time.monotonic() - paused))


def _plan(size: Size) -> dict[str, Any]:
    return {"machine": "fake", "size": asdict(size)}


def _memory_of(capture: Path) -> dict[str, Any]:
    with (capture / "memory.img").open("rb") as image:
        memory: dict[str, Any] = json.loads(image.read(MEMORY_LIMIT).split(b"\0", 1)[0])
    return memory


def _guest_of(spec: RunSpec, capture: Path) -> FakeGuest:
    """The captured guest on the disk of `spec`."""
    try:
        plan = json.loads((capture / "devices.state").read_text())
        memory = _memory_of(capture)
    except ValueError as error:
        raise OperationFailed(f"the state of machine '{spec.name}' does not load: {error}") from error
    if plan != spec.plan:
        raise OperationFailed(f"the state of machine '{spec.name}' does not load into another plan")
    try:
        return FakeGuest(spec.disk, memory)
    except Corrupt as error:
        raise OperationFailed(f"the guest of machine '{spec.name}' crashed when it went on: {error}") from error


def _write(path: Path, content: object, size: int | None = None) -> None:
    """Write a file; with a size it ends in a hole, as RAM does. Not synced: it outlives no host."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        written = os.write(descriptor, json.dumps(content).encode())
        os.ftruncate(descriptor, size or written)
    finally:
        os.close(descriptor)
