"""Checkpoints and snapshots: captures and who owns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from openboxd.model.machines import NO_SIZE, Size

MAX_CHECKPOINTS = 10
"""Checkpoints a machine may own (S31). Pending and ready ones count, failed ones do not."""


class CheckpointStatus(StrEnum):
    """How far a checkpoint has come."""

    PENDING = "pending"  # the save runs; nothing can be restored yet
    READY = "ready"  # the capture is whole, on disk and named
    FAILED = "failed"  # the save did not succeed; no bytes are kept
    REMOVING = "removing"  # nobody is shown it any more; its bytes are on their way out


@dataclass(frozen=True)
class Checkpoint:
    """A capture owned by a machine, as the store keeps it."""

    id: str  # cp_ + 20 base32 characters
    machine_id: str
    name: str
    status: CheckpointStatus
    created_at_ms: int  # epoch milliseconds
    created_by: str  # see Caller.author
    parent: str = ""  # id of the checkpoint the machine descended from when this was saved; empty = none
    size: Size = NO_SIZE  # hardware at the capture
    pause_us: int = 0  # time the vCPUs stood still
    duration_ms: int = 0  # from the order until ready
    written_bytes: int = 0  # bytes of memory written that the parent did not have
    failure_reason: str = ""


@dataclass(frozen=True)
class Usage:
    """Allocated bytes of files: those that only they hold, and those they share with others."""

    exclusive_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class CheckpointView:
    """A checkpoint as users see it: with its usage, its parent's name, and whether the machine descends from it."""

    checkpoint: Checkpoint
    usage: Usage
    parent_name: str
    is_current: bool


class SnapshotStatus(StrEnum):
    """What became of the newest version of a snapshot."""

    PENDING = "pending"  # it is being saved; the version before it, if there is one, can be used
    READY = "ready"  # a capture is whole, on disk and named
    FAILED = "failed"  # no version was ever saved; no bytes are kept


@dataclass(frozen=True)
class Snapshot:
    """A capture owned by an account, from which further machines are made. Of its versions the newest is kept.

    A version that could not be saved leaves the one before it in place: then `failed_version` and `failure_reason`
    tell of it, until a version is saved again.
    """

    id: str  # snap_ + 20 base32 characters
    owner_id: str
    name: str  # unique among the owner's
    created_at_ms: int  # epoch milliseconds, when the first version was saved
    version: int = 0  # of the capture that is kept; 0 = none yet
    saving: str = ""  # id of the machine that a further version is being saved from; empty = none is
    tried_at_ms: int = 0  # epoch milliseconds, when the latest save began
    # of the version that is kept:
    updated_at_ms: int = 0  # epoch milliseconds, when it was saved
    source_id: str = ""  # the machine it was saved from, and what that was called
    source_name: str = ""
    image: str = ""  # digest of the image whose kernel and initrd its machines boot
    image_name: str = ""
    size: Size = NO_SIZE
    disk_bytes: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False
    networks: tuple[str, ...] = ()
    auto_suspend_secs: int = 0
    auto_hibernate_secs: int = 0
    idle_ignore_outbound: bool = False
    pause_us: int = 0  # time the vCPUs of the source stood still
    duration_ms: int = 0  # from the order until ready
    # of the version that came to nothing after it:
    failed_version: int = 0  # 0 = none did
    failure_reason: str = ""

    @property
    def status(self) -> SnapshotStatus:
        """See SnapshotStatus."""
        if self.saving:
            return SnapshotStatus.PENDING
        return SnapshotStatus.READY if self.version else SnapshotStatus.FAILED


@dataclass(frozen=True)
class SnapshotView:
    """A snapshot as users see it: with its usage, and how many machines were made from it so far."""

    snapshot: Snapshot
    usage: Usage
    use_count: int = 0


@dataclass(frozen=True)
class SaveReport:
    """What a save measured.

    Attributes:
        pause_us: time the vCPUs stood still, microseconds.
        seen_bytes: guest memory that came through the stream.
        written_bytes: guest memory written because the parent did not have it.
        duration_ms: the whole save.
        forced: the guest dirtied memory too fast and was paused to finish.
    """

    pause_us: int
    seen_bytes: int
    written_bytes: int
    duration_ms: int
    forced: bool = False


@dataclass(frozen=True)
class Damage:
    """What is wrong with a file of a capture; bytes `start` to `end`, or the whole file if both are 0."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Verification:
    """What reading a whole checkpoint told. `sealed` is false for one that was saved without digests."""

    checkpoint: str
    checked_bytes: int
    duration_ms: int
    damages: tuple[Damage, ...] = ()
    sealed: bool = True

    @property
    def ok(self) -> bool:
        """Nothing was found, and there was something to compare with."""
        return self.sealed and not self.damages
