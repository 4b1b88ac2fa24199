"""What the worker needs from its drivers, as small interfaces with their promises.

The daemon builds the real drivers, tests build fakes; both pass the same contract suites in `tests/contracts`.
Every promise says what holds after success and after failure. Unless said otherwise a method that raises has
changed nothing, and a method that ends or removes something may be called twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from openboxd.model import (
    Accelerator,
    Checkpoint,
    Event,
    ExecOutput,
    ExecRequest,
    ExposedPort,
    Finding,
    Held,
    Image,
    Listing,
    Machine,
    Operation,
    Progress,
    Route,
    SaveReport,
    Size,
    Space,
    Usage,
    Way,
)

Report = Callable[[Progress], None]
"""Takes progress; never blocks, never raises."""

# ----------------------------------------------------------------------------------------------------- hypervisor

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
    """

    staging: Path
    disk: Path
    parent: Path | None


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

    def watch_stalls(self, told: Callable[[bool], None]) -> None:
        """Call `told` with True when the vCPUs stand still because the guest's write found no room, and with False
        when they go on. They go on by themselves when there is room; the guest sees no error."""
        ...

    async def save(self, job: SaveJob, report: Report) -> SaveReport:
        """Write a capture of the running machine into `job.staging` while it runs.

        Memory, devices and disk are of the same instant. Whatever happens, also on cancellation, the vCPUs run
        again when this returns or raises, unless the process has ended. On failure `staging` holds rubbish.

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


# ----------------------------------------------------------------------------------------------------------- pool


class Pool(Protocol):
    """Directories and files on a filesystem with reflinks. Methods are synchronous and may block for I/O: call
    `publish`, `discard`, `usage` and `recover` in a thread.

    Attributes:
        kind: "reflink", or "copy" where every clone is a full copy.
    """

    kind: Literal["reflink", "copy"]

    def space(self) -> Space:
        """Bytes of the pool's filesystem."""
        ...

    def image_dir(self, digest: str) -> Path:
        """disk.raw, vmlinuz, initrd and manifest.json of an image; exists iff the image is whole."""
        ...

    def machine_dir(self, machine_id: str) -> Path:
        """Directory of a machine (disk.raw, console.log, checkpoints/)."""
        ...

    def checkpoint_dir(self, machine_id: str, checkpoint_id: str) -> Path:
        """Directory of a checkpoint; exists iff its capture is whole."""
        ...

    def stage(self, label: str) -> Path:
        """A new, empty, private directory in the staging area; `label` makes it recognisable."""
        ...

    def clone(self, source: Path, target: Path) -> None:
        """Copy a file by reflink (or plainly where the filesystem has none); `target` must not exist.

        Raises:
            WrongState: no space.
        """
        ...

    def publish(self, staging: Path, final: Path) -> None:
        """Make `staging` appear as `final`, durably: files synced, renamed, parent directory synced.

        `final` must not exist. After a failure either name holds the whole directory.
        """
        ...

    def discard(self, path: Path) -> None:
        """Remove a file or directory tree. It vanishes under its name at once and durably; its bytes follow.
        Harmless if it does not exist."""
        ...

    def usage(self, path: Path) -> Usage:
        """Allocated bytes of a directory's files, exclusive and shared; zeros if it does not exist."""
        ...

    def recover(self) -> int:
        """Empty the staging area; how many things it held. Only while no operation runs."""
        ...


# ---------------------------------------------------------------------------------------------------------- guest


class ExecSession(Protocol):
    """A command that runs in the guest.

    Iterate `output()` to its end, then read `exit_code`. Output is held to the reader's pace. If the machine is
    restored, stopped or lost meanwhile, `output()` raises Interrupted.
    """

    exit_code: int | None

    def output(self) -> AsyncIterator[ExecOutput]:
        """Pieces of stdout and stderr until the command has ended. Background children do not hold it."""
        ...

    async def write(self, data: bytes) -> None:
        """Feed stdin; waits for credit. Silently drops data once the command has closed its stdin."""
        ...

    async def write_eof(self) -> None:
        """End of stdin (byte 0x04 on a tty). Harmless twice."""
        ...

    async def resize(self, cols: int, rows: int) -> None:
        """New size of the tty; ignored without one."""
        ...

    async def cancel(self) -> None:
        """End the whole process group: SIGTERM, then SIGKILL a little later. Returns at once; harmless twice."""
        ...


class GuestConnection(Protocol):
    """A TCP connection to a service of the guest, made by its agent; each direction is held to its reader's pace."""

    async def read(self) -> bytes:
        """The next piece; nothing once the service has ended its direction.

        Raises:
            Interrupted: the service cut the connection off, or the machine was restored, stopped or lost.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send all of it; waits for credit. Dropped once the service has ended the connection. Raises Interrupted."""
        ...

    def write_eof(self) -> None:
        """No more data from here. Harmless twice."""
        ...

    def close(self) -> None:
        """End both directions now. Harmless twice."""
        ...


class GuestDialer(Protocol):
    """What an Agent offers to gates."""

    async def dial(self, port: int) -> GuestConnection:
        """Connect to a port on the guest's loopback (IPv4, then IPv6).

        Raises:
            InvalidArgument: no port has that number.
            WrongState: nothing answers there.
            Unavailable, Interrupted: the agent is not ready, or the channel is closed.
        """
        ...

    async def listeners(self) -> Sequence[int]:
        """TCP ports somebody listens on in the guest, lowest first; its sshd's is among them."""
        ...


class Agent(GuestDialer, Protocol):
    """The daemon's end of the channel to the agent in one run."""

    @property
    def ready(self) -> bool:
        """The present epoch is in step: calls go straight through."""
        ...

    async def wait_ready(self, timeout: float) -> None:
        """Until the agent has answered and its clock is set.

        Raises:
            Unavailable: not within `timeout` seconds.
            Interrupted: the channel was closed.
        """
        ...

    async def exec(self, request: ExecRequest) -> ExecSession:
        """Start a command. Raises Unavailable if the agent is not ready."""
        ...

    async def upload(self, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        """Write a file of exactly `total_size` bytes, atomically at its final name; the number written.

        Relative paths resolve to /home/boxd. The old content or nothing remains after any failure.

        Raises:
            NotFound: the parent directory does not exist.
            WrongState: the guest refused (no space, permission, is a directory); InvalidArgument: sizes differ.
        """
        ...

    async def download(self, path: str) -> tuple[int, AsyncIterator[bytes]]:
        """Size of a file, and its content in pieces. Raises NotFound, WrongState (a directory, permission)."""
        ...

    async def list_dir(self, path: str, limit: int) -> Listing:
        """Entries of a directory, at most `limit`. Raises NotFound, WrongState (not a directory, permission)."""
        ...

    async def mkdir(self, path: str) -> None:
        """Make one directory; its parent must exist. Raises NotFound, AlreadyExists, WrongState."""
        ...

    async def rename(self, old: str, new: str) -> None:
        """Rename or move. Raises NotFound, WrongState."""
        ...

    async def delete(self, path: str) -> None:
        """Delete a file or a tree. Raises NotFound, WrongState."""
        ...

    async def copy(self, old: str, new: str) -> None:
        """Copy a file or a tree. Raises NotFound, WrongState."""
        ...

    async def close(self, reason: str) -> None:
        """Close the channel; open streams raise Interrupted(reason). Harmless twice."""
        ...


class AgentConnector(Protocol):
    """Opens agent channels."""

    async def connect(self, socket: Path, label: str) -> Agent:
        """Connect to a run's agent port and begin a new epoch; returns once connected, before the agent answers.
        From then on the channel is always read, reconnects by itself, and sets the guest's clock and reseeds its
        random generator at every new epoch."""
        ...


# ----------------------------------------------------------------------------------------------------------- ways


class Ways(Protocol):
    """The ways in to machines from outside: gates that hold new connections while a machine is swapped.

    Nothing here raises: what cannot be listened on is told in `boxd doctor` and tried again. All of a machine's ways
    are open, held or shut together; those of a machine that was just arranged are held. A machine that was never
    arranged has none, and the rest is harmless.
    """

    async def arrange(self, machine_id: str, name: str, ways: Sequence[Way]) -> None:
        """These are the machine's ways in from now on; connections of those that stay are not touched."""
        ...

    async def drop(self, machine_id: str) -> None:
        """The machine has no way in any more. Harmless twice."""
        ...

    def hold(self, machine_id: str) -> None:
        """New connections wait from now on; those that are established are not touched. Harmless twice."""
        ...

    async def drain(self, machine_id: str) -> None:
        """Give established connections what is left of a moment since the hold, then cut them."""
        ...

    async def open(self, machine_id: str, guest: Agent) -> Held:
        """Let everybody through, by way of this agent; what the hold cost. Harmless twice."""
        ...

    async def shut(self, machine_id: str, reason: str) -> None:
        """Turn everybody away, with a sentence where the protocol allows; established connections are cut."""
        ...

    async def found_port(self, machine_id: str) -> int:
        """Where the machine's default route leads while nobody has pinned its port."""
        ...

    def is_free(self, public_port: int) -> bool:
        """Nobody on the host listens on this port where machines' ports are listened on."""
        ...


# ---------------------------------------------------------------------------------------------------------- store


class Store(Protocol):
    """What the worker keeps. Reads are plain calls; writes are awaited and durable when they return, and each
    is one transaction. Names and ids that do not exist read as None."""

    def machine(self, machine_id: str) -> Machine | None:
        """The machine with this id, destroyed ones included."""
        ...

    def machines(self) -> Sequence[Machine]:
        """All machines but the destroyed ones, oldest first."""
        ...

    def image(self, digest: str) -> Image | None:
        """The image of this digest."""
        ...

    def checkpoint(self, machine_id: str, name: str) -> Checkpoint | None:
        """A machine's checkpoint by name; those being removed are not seen."""
        ...

    def checkpoints(self, machine_id: str) -> Sequence[Checkpoint]:
        """A machine's checkpoints, oldest first (created_at_ms, then id); those being removed are not seen."""
        ...

    def removing_checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints of all machines whose bytes are on their way out."""
        ...

    async def add_machine(self, machine: Machine) -> None:
        """Raises AlreadyExists if name (among those alive), address or mac is taken."""
        ...

    async def update_machine(self, machine_id: str, **values: Any) -> Machine:
        """Set fields; the new state. Raises NotFound; AlreadyExists for a name in use."""
        ...

    async def begin_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a pending row; a failed one of the same name is replaced. Raises AlreadyExists."""
        ...

    async def update_checkpoint(self, checkpoint_id: str, **values: Any) -> None:
        """Set fields. Raises NotFound."""
        ...

    async def finish_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write the row as given (ready) and make it its machine's `head`, in one transaction."""
        ...

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Forget the row; a machine or checkpoint that descended from it descends from its parent instead."""
        ...

    async def begin_operation(self, machine_id: str, kind: str, detail: Mapping[str, Any]) -> int:
        """Journal an operation; its id."""
        ...

    async def step_operation(self, operation_id: int, step: str, **detail: Any) -> None:
        """Journal that a step is being entered; `detail` is merged into the operation's detail."""
        ...

    async def end_operation(self, operation_id: int) -> None:
        """Forget the operation. Harmless twice."""
        ...

    async def add_event(self, event: Event) -> None:
        """Append to a machine's event log; the oldest beyond the limit are forgotten."""
        ...

    def events(self, machine_id: str, limit: int) -> Sequence[Event]:
        """The last `limit` events of a machine, oldest first."""
        ...

    def open_operations(self) -> Sequence[Operation]:
        """Operations that were begun and not ended, oldest first."""
        ...

    def routes(self, machine_id: str) -> Sequence[Route]:
        """A machine's routes, by name; the default one (an empty name) only while its port is pinned."""
        ...

    def exposed_ports(self, machine_id: str) -> Sequence[ExposedPort]:
        """A machine's exposed ports, by port."""
        ...

    def fact(self, name: str) -> str:
        """A fact about the host that was kept under this name; empty if none was."""
        ...

    async def keep_fact(self, name: str, value: str) -> None:
        """Keep a fact about the host."""
        ...


# --------------------------------------------------------------------------------------------------------- network


@dataclass(frozen=True)
class NetworkLink:
    """The network behind a run's card. The card itself is in the plan and the same for every kind of network, so that
    a capture taken with one loads with another.

    Attributes:
        prefix, gateway, resolver: what the guest is configured with; no resolver = "".
        tap: descriptor of a tap device; -1 = QEMU's own user network. It belongs to whoever called `prepare`, who
            closes it once the run has it.
        restricted: QEMU's user network leads nowhere.
        around: the program, with arguments, that the run's program is started by (as the same process).
        words: what the guest's kernel is told on its command line to have its address.
    """

    prefix: int
    gateway: str
    resolver: str
    tap: int = -1
    restricted: bool = True
    around: Sequence[str] = ()
    words: str = ""


class Network(Protocol):
    """Gives each machine its address and a way out, and keeps it away from the host and from other machines.

    Each run has a device of its own, which ends with its process: nothing of a dead run can stay behind.
    """

    async def check(self) -> Sequence[Finding]:
        """What the host has for this network, with remedies; changes nothing."""
        ...

    async def open(self, machines: Sequence[Machine]) -> int:
        """Set up what all machines share, and join the devices of those runs that are alive; how many things of
        others were removed. May be called twice.

        Raises:
            HostUnfit: the host does not let us.
        """
        ...

    async def prepare(self, machine: Machine, run_id: str) -> NetworkLink:
        """A link for a run that is going to start. It carries nothing yet. Raises OperationFailed."""
        ...

    async def attach(self, machine: Machine, run_id: str, pid: int) -> None:
        """From now on the machine's address is that of this run, whose process has started; an earlier run's is cut
        off. Raises OperationFailed."""
        ...

    async def release(self, machine: Machine, run_id: str) -> None:
        """The run has ended. Harmless twice, and for a run that never was."""
        ...

    async def close(self) -> None:
        """Remove everything that `open` has made. Machines that run lose their network."""
        ...
