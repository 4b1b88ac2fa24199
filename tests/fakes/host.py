"""A host whose QEMU processes are objects: they outlive the daemon (a FakeHypervisor), as real ones do.

Tests reach the guests through it, and can hold any driver call at a named point, or crash, hang and power off runs.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openboxd.ports import RunEnd, RunSpec, RunState
from tests.fakes.guest import FakeGuest


class Hold:
    """A point at which calls wait: `await reached()`, look at the world, `release()`."""

    def __init__(self, *, once: bool = False) -> None:
        self.once = once
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def reached(self, limit: float = 30.0) -> None:
        """Until a call has come to the point."""
        async with asyncio.timeout(limit):
            await self._reached.wait()

    def release(self) -> None:
        """Let the calls go on."""
        self._released.set()

    async def wait_here(self) -> None:
        """Called by the driver."""
        self._reached.set()
        await self._released.wait()


class FakeProcess:
    """One QEMU process and the guest in it.

    Attributes:
        state: what the vCPUs do.
        answers: whether the guest's agent would answer (while the vCPUs run); see `set_answers`.
        ignores_power_button: a guest that does not shut down when asked.
        hung: QEMU does not answer its monitor.
        identity_refusal: why its guest does not become who it is told to be.
    """

    def __init__(self, spec: RunSpec, socket: Path, pid: int, plan: dict[str, Any]) -> None:
        self.spec, self.socket, self.pid, self.plan = spec, socket, pid, plan
        self.state = RunState.LOADING
        self.end: RunEnd | None = None
        self.answers = True
        self.ignores_power_button = False
        self.hung = False
        self.identity_refusal = ""
        self.channels = 0  # agent channels that were ever connected
        self.epochs = 0  # times the agent got in step with a channel: clock set, reseeded
        self.clocks = 0  # times the clock was set after the vCPUs had stood still
        self.saving = False
        self.stall: Callable[[bool], None] = lambda stalled: None  # of the daemon that watches
        self._guest: FakeGuest | None = None
        self._changes: set[asyncio.Future[None]] = set()

    @property
    def guest(self) -> FakeGuest:
        """The guest; there is none before a boot or load has succeeded."""
        assert self._guest is not None, "no guest was loaded"
        return self._guest

    def stand_still(self, stalled: bool) -> None:
        """A write of the guest finds no room (True), or room again (False)."""
        self.set_state(RunState.PAUSED if stalled else RunState.RUNNING)
        self.stall(stalled)

    def take_guest(self, guest: FakeGuest, state: RunState) -> None:
        """The guest is in memory from here on."""
        self._guest = guest
        self.set_state(state)

    def set_state(self, state: RunState) -> None:
        if self.state is not RunState.ENDED:
            self.state = state
            self.tell()

    def set_answers(self, answers: bool) -> None:
        """Let the guest's agent answer, or be deaf."""
        self.answers = answers
        self.tell()

    # -- what happens to processes

    def exit(self, clean: bool, text: str) -> None:
        """The process ends. Harmless twice."""
        if self.end is not None:
            return
        self.end = RunEnd(clean, text)
        self.state = RunState.ENDED
        if self._guest is not None:
            self._guest.disk.close()
        self.tell()

    def crash(self, text: str = "QEMU was killed by signal 9") -> None:
        """QEMU dies."""
        self.exit(False, text)

    def power_off(self) -> None:
        """The guest powers itself off."""
        self.exit(True, "the guest powered off")

    # -- waiting

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` holds; it is asked again whenever the process changes."""
        while not condition():
            change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._changes.add(change)
            try:
                await change
            finally:
                self._changes.discard(change)

    def tell(self) -> None:
        """Something changed: whoever waits asks again."""
        for change in list(self._changes):
            if not change.done():
                change.set_result(None)


class FakeHost:
    """Everything that outlives the daemon.

    Attributes:
        sockets: directory in which agent sockets are said to be; a short one.
        new_guests_answer: what `answers` is for guests that start from now on.
        accelerator: name of the accelerator.
    """

    def __init__(self, sockets: Path = Path("/run/boxd-fake")) -> None:
        self.sockets = sockets
        self.processes: dict[str, FakeProcess] = {}
        self.new_guests_answer = True
        self.accelerator = "tcg"
        self._holds: dict[str, Hold] = {}
        self._pids = itertools.count(1_000_001)

    def new_process(self, spec: RunSpec, plan: dict[str, Any]) -> FakeProcess:
        """Start a process; it waits for its guest."""
        assert spec.run_id not in self.processes, f"run id {spec.run_id} was used before"
        process = FakeProcess(spec, self.sockets / f"{spec.run_id}.agent", next(self._pids), plan)
        process.answers = self.new_guests_answer
        self.processes[spec.run_id] = process
        return process

    def alive(self) -> list[FakeProcess]:
        """Processes that have not ended, oldest first."""
        return [process for process in self.processes.values() if process.end is None]

    def of_machine(self, machine_id: str) -> FakeProcess:
        """The one process of a machine that runs. Fails if there is none, or two."""
        (process,) = (process for process in self.alive() if process.spec.machine_id == machine_id)
        return process

    def at(self, socket: Path) -> FakeProcess | None:
        """The living process that listens on this agent socket."""
        return next((process for process in self.alive() if process.socket == socket), None)

    @contextmanager
    def hold(self, point: str, *, once: bool = False) -> Iterator[Hold]:
        """Make every call wait at `point` (see `hypervisor.POINTS`) until it is released or the block is left.

        With `once` only the first one waits.
        """
        hold = self._holds[point] = Hold(once=once)
        try:
            yield hold
        finally:
            self._holds.pop(point, None)
            hold.release()

    async def wait_at(self, point: str) -> None:
        """Called by the drivers at their points."""
        hold = self._holds.get(point)
        if hold is None:
            return
        if hold.once:
            del self._holds[point]
        await hold.wait_here()

    def close(self) -> None:
        """End all processes; for a fixture's end."""
        for process in self.alive():
            process.crash("the test is over")
