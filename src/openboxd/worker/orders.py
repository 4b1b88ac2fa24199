"""Orders to a machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from openboxd.model import GIB, Size


@dataclass(frozen=True)
class Start:
    """Boot the machine's disk."""

    def __str__(self) -> str:
        return "start"


@dataclass(frozen=True)
class StartFrom:
    """Start a new machine from a capture, as another machine than the captured one.

    Attributes:
        capture: its directory, kept until the order is carried out.
        label: what it is, for sentences: "snapshot 'base'".
        or_boot: if it cannot be had so, the machine is booted from its disk; else it is removed.
    """

    capture: Path
    label: str
    or_boot: bool = False

    def __str__(self) -> str:
        return f"start from {self.label}"


@dataclass(frozen=True)
class Stop:
    """Shut the guest down cleanly, within a limit."""

    def __str__(self) -> str:
        return "stop"


@dataclass(frozen=True)
class Reboot:
    """Shut down and boot again with a new run."""

    def __str__(self) -> str:
        return "reboot"


@dataclass(frozen=True)
class Suspend:
    """Pause the vCPUs until somebody uses the machine; with `when_idle` only if nobody uses it meanwhile."""

    when_idle: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return "suspend"


@dataclass(frozen=True)
class Resume:
    """Let the vCPUs of a suspended machine go on."""

    def __str__(self) -> str:
        return "resume"


@dataclass(frozen=True)
class Hibernate:
    """Put the machine to disk and end its run; with `when_idle` only if nobody uses it meanwhile."""

    when_idle: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return "hibernate"


@dataclass(frozen=True)
class Wake:
    """Let a hibernated machine go on from the instant in which it was."""

    def __str__(self) -> str:
        return "wake"


@dataclass(frozen=True)
class Save:
    """Take a checkpoint."""

    checkpoint_id: str
    name: str
    created_by: str

    def __str__(self) -> str:
        return f"save of '{self.name}'"


@dataclass(frozen=True)
class SaveSnapshot:
    """Save a version of a snapshot of `owner_id`; `snapshot_id` is its id if there is none of this name yet."""

    snapshot_id: str
    name: str
    owner_id: str

    def __str__(self) -> str:
        return f"save of snapshot '{self.name}'"


@dataclass(frozen=True)
class Fork:
    """Put the machine as it is now into an empty directory, from which copies are made."""

    directory: Path

    def __str__(self) -> str:
        return "fork"


@dataclass(frozen=True)
class Restore:
    """Take the machine back to a checkpoint."""

    name: str

    def __str__(self) -> str:
        return f"restore of '{self.name}'"


@dataclass(frozen=True)
class Remove:
    """Remove a checkpoint."""

    name: str

    def __str__(self) -> str:
        return f"removal of '{self.name}'"


@dataclass(frozen=True)
class Destroy:
    """End the machine and everything it owns; takes over from whatever runs."""

    def __str__(self) -> str:
        return "removal of the machine"


@dataclass(frozen=True)
class Rename:
    """Give the machine another name; it is rebooted if it runs, since its hostname comes with the boot."""

    name: str

    def __str__(self) -> str:
        return f"renaming to '{self.name}'"


@dataclass(frozen=True)
class Resize:
    """Give the machine other hardware; it is rebooted if it runs."""

    size: Size

    def __str__(self) -> str:
        return f"resizing to {self.size.vcpu} vCPU and {gib(self.size.memory_bytes)}"


Sleep = Suspend | Resume | Hibernate | Wake
Order = (
    Start
    | StartFrom
    | Stop
    | Reboot
    | Rename
    | Resize
    | Save
    | SaveSnapshot
    | Fork
    | Restore
    | Remove
    | Destroy
    | Sleep
)


def words(order: Order) -> tuple[str, str]:
    """An order for the event log: the operation, and what it is done to."""
    match order:
        case Save() | Restore() | Remove() | Rename():
            return type(order).__name__.lower(), order.name
        case StartFrom():
            return "start", f"from {order.label}"
        case SaveSnapshot():
            return "snapshot", order.name
        case Resize():
            return "resize", str(order).removeprefix("resizing to ")
        case Suspend(when_idle=True) | Hibernate(when_idle=True):
            return str(order), "idle"
    return type(order).__name__.lower(), ""


def gib(count: int) -> str:
    """A number of bytes for a sentence, e.g. "1.5 GiB"."""
    return f"{count / GIB:.1f} GiB"
