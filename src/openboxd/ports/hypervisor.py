"""What runs guests: the hypervisor and one run of a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from openboxd.model import (
    Accelerator,
    Progress,
    SaveReport,
    Size,
)
from openboxd.ports.network import NetworkLink

Report = Callable[[Progress], None]
"""Takes progress; never blocks, never raises."""

Plan = Mapping[str, Any]
"""A machine's hardware as plain JSON data: machine type, CPU model, vCPUs, RAM, devices in order. A capture loads
only into the plan it was taken with, so the plan is kept in the capture's manifest."""


@dataclass(frozen=True)
class RunSpec:
    """Everything needed to start one run.

    Attributes:
        run_id: 12 lowercase hex characters, new for every run.
        machine_id, name: whose run it is; the name only labels the process.
        size: hardware; ignored when `plan` is given.
        disk: raw root disk, opened read-write.
        kernel, initrd, cmdline: booted directly.
        console: file the serial console is appended to.
        address, mac: the machine's network identity.
        plan: the plan of the capture to load, or None to plan anew.
        link: the network behind its card, or None for one that leads nowhere.
    """

    run_id: str
    machine_id: str
    name: str
    size: Size
    disk: Path
    kernel: Path
    initrd: Path
    cmdline: str
    console: Path
    address: str
    mac: str
    plan: Plan | None = None
    link: NetworkLink | None = None


class RunState(StrEnum):
    """What a run's vCPUs do."""

    RUNNING = "running"
    PAUSED = "paused"  # stopped on purpose, loaded and waiting, or left so by a save that died
    LOADING = "loading"  # waiting for, or reading, a capture's state
    ENDED = "ended"  # no process any more


@dataclass(frozen=True)
class RunEnd:
    """Why a run's process ended.

    Attributes:
        clean: the guest powered itself off, or was asked to and did.
        text: a clause for people, e.g. "QEMU was killed by signal 9".
    """

    clean: bool
    text: str


@dataclass(frozen=True)
class SaveJob:
    """What a save is to write.

    Attributes:
        staging: existing empty directory in the pool; gets memory.img, devices.state, disk.raw and digests.json
            (`host.digests`), all synced.
        disk: the run's root disk, cloned while the vCPUs are paused.
        parent: directory of a capture of the same RAM size whose memory.img is shared where equal, or None.
        paused: the vCPUs stand still already, and are left so.
    """

    staging: Path
    disk: Path
    parent: Path | None
    paused: bool = False


class Run(Protocol):
    """One QEMU process. It outlives the daemon; `detach` lets go of it."""

    run_id: str
    machine_id: str
    pid: int
    plan: Plan
    agent_socket: Path

    async def state(self) -> RunState:
        """What the vCPUs do now. Raises OutcomeUnknown if QEMU does not answer within a few seconds."""
        ...

    async def resume(self) -> None:
        """Let the vCPUs run; harmless if they do."""
        ...

    async def pause(self) -> None:
        """Pause the vCPUs; harmless if they are."""
        ...

    async def powerdown(self) -> None:
        """Press the power button; returns at once."""
        ...

    async def kill(self) -> None:
        """End the process now; returns when it is gone and its sockets are removed. Harmless if it is gone."""
        ...

    async def ended(self) -> RunEnd:
        """Wait until the process has ended (whoever ended it). May be awaited by several tasks."""
        ...

    def watch_stalls(self, told: Callable[[bool], None], free: Callable[[], int]) -> None:
        """Call `told` with True when the vCPUs stand still because the guest's write found no room, and with False
        when they go on. They go on by themselves when `free()`, bytes of the disk's filesystem, is enough; the guest
        sees no error."""
        ...

    async def save(self, job: SaveJob, report: Report) -> SaveReport:
        """Write a capture of the running machine into `job.staging` while it runs.

        Memory, devices and disk are of the same instant. Whatever happens, also on cancellation, the vCPUs run
        again when this returns or raises, unless the process has ended; with `job.paused` they stand still as before.
        On failure `staging` holds rubbish.

        Raises:
            OperationFailed: the save failed, the guest runs.
            WrongState: no space left in the pool (ENOSPC), the guest runs.
            MachineLost: QEMU ended meanwhile.
        """
        ...

    async def detach(self) -> None:
        """Close the daemon's connections; the process runs on and can be adopted."""
        ...


class Hypervisor(Protocol):
    """Starts and adopts runs."""

    async def check(self) -> None:
        """Raises HostUnfit with the remedy if QEMU is missing, too old (< 9.0) or unusable."""
        ...

    async def accelerator(self) -> Accelerator:
        """Which accelerator runs guests and why; remembered."""
        ...

    async def version(self) -> str:
        """QEMU's version, e.g. "10.0.2"."""
        ...

    async def plan(self, size: Size) -> Plan:
        """The hardware of a machine of this size that is booted now."""
        ...

    async def boot(self, spec: RunSpec) -> Run:
        """Start a run that boots its disk; the vCPUs run when this returns. On failure nothing is left."""
        ...

    async def load(self, spec: RunSpec, capture: Path, connect: Callable[[Path], Any]) -> Run:
        """Start a run from a capture, loaded and paused; `resume` lets it go on from the captured instant.

        `connect(agent_socket)` is awaited after the process listens and before the state is loaded: the host end
        of the agent channel must be connected by then. `capture`/memory.img is mapped privately and never
        written. `spec.plan` is required. On failure nothing is left.

        Raises:
            OperationFailed: the state does not load.
        """
        ...

    async def leftovers(self) -> Sequence[str]:
        """Ids of all runs of this home whose process is alive, known to the store or not; no side effects."""
        ...

    async def sweep(self) -> int:
        """Remove what ended runs of this home left (sockets, logs); how many there were. Only while none starts."""
        ...

    async def adopt(self, run_id: str) -> Run | None:
        """Take over a run from an earlier daemon; None if its process is gone.

        A run found paused or mid-save by a dead daemon is reported so by `state`; adopt also ends every saver
        process of that run and cancels its outgoing migration, so that the caller may `resume`.

        Raises:
            OperationFailed: the process lives but does not answer; it was not touched.
        """
        ...

    async def end(self, run_id: str) -> None:
        """End a run's process whether or not it can be adopted; returns when it is gone. Harmless if it is."""
        ...
