"""The nouns of boxd as plain, frozen data, shared by every layer.

Nothing here does I/O or imports another layer. Words follow ARCHITECTURE.md: a *machine* lives for weeks, a
*run* is one QEMU process of it, a *capture* is the machine at one instant, a *checkpoint* is a capture owned by
its machine, a *snapshot* one owned by an account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

MAX_CHECKPOINTS = 10
"""Checkpoints a machine may own (S31). Pending and ready ones count, failed ones do not."""

LIST_LIMIT = 10_000
"""Entries of one directory listing; more are reported as truncated."""


class MachineStatus(StrEnum):
    """What a machine is doing, as GetVm reports it. Each comment says what is true in the state."""

    PENDING = "pending"  # a row exists, no run yet
    STARTING = "starting"  # a run is being started, rebooted or swapped; ends in RUNNING, STOPPED or FAILED
    RUNNING = "running"  # a run exists; its vCPUs may be paused for a moment by a save
    SUSPENDED = "suspended"  # a run exists, and its vCPUs are paused until somebody uses the machine
    HIBERNATED = "hibernated"  # no run; a capture of the machine waits until somebody uses it
    STOPPED = "stopped"  # no run; the disk is at rest
    FAILED = "failed"  # the run ended without being asked to; the disk is as it was left
    DESTROYING = "destroying"  # removal has begun and will be finished, also over a daemon restart
    DESTROYED = "destroyed"  # only the row is left


class CheckpointStatus(StrEnum):
    """How far a checkpoint has come."""

    PENDING = "pending"  # the save runs; nothing can be restored yet
    READY = "ready"  # the capture is whole, on disk and named
    FAILED = "failed"  # the save did not succeed; no bytes are kept
    REMOVING = "removing"  # nobody is shown it any more; its bytes are on their way out


@dataclass(frozen=True)
class Size:
    """The hardware of a machine: number of vCPUs and bytes of RAM."""

    vcpu: int
    memory_bytes: int


@dataclass(frozen=True)
class User:
    """An account: id `u_...`, a name that nobody else has. `is_owner`: of this host; they manage accounts."""

    id: str
    name: str
    is_owner: bool = False


class OrgRole(StrEnum):
    """What a member may do in an organization."""

    OWNER = "owner"  # one; everything, and passes the ownership on
    ADMIN = "admin"  # manages members and shared machines
    MEMBER = "member"  # uses shared machines


@dataclass(frozen=True)
class Org:
    """An organization: users who share machines. Its name is unique on this host."""

    id: str  # o_ + 16 hex characters
    name: str
    created_at: int  # epoch seconds


@dataclass(frozen=True)
class Membership:
    """A user's place in an organization."""

    org_id: str
    user_id: str
    role: OrgRole
    added_at: int  # epoch seconds


@dataclass(frozen=True)
class Invite:
    """An invitation that nobody has accepted yet. Its token is stored as a digest only; the id revokes it."""

    id: str
    org_id: str
    email: str  # for people to know whom it was meant for; nobody sends mail here
    role: OrgRole
    created_at: int  # epoch seconds
    expires_at: int


@dataclass(frozen=True)
class Quota:
    """What a user's machines may take altogether; 0 = without limit."""

    machines: int = 0  # that exist, in whatever state
    vcpu: int = 0  # of those that run
    memory_bytes: int = 0  # of those that run
    pool_bytes: int = 0  # disks and checkpoints, in whatever state


@dataclass(frozen=True)
class Scope:
    """Which machines a caller sees: those of `owner_id`, those shared with `orgs`; with `only`, that one at most."""

    owner_id: str = ""  # empty: nobody's
    orgs: frozenset[str] = frozenset()
    only: str = ""


@dataclass(frozen=True)
class UsageSpan:
    """A time in which a machine was in one state, of one size and weight. Times are epoch milliseconds.

    Attributes:
        state: "running", "standby", "hibernated" or "stopped".
        end_ms: for one that goes on: when it was last known to.
    """

    machine_id: str
    state: str
    size: Size
    disk_bytes: int
    checkpoint_bytes: int
    start_ms: int
    end_ms: int
    is_open: bool = True


@dataclass(frozen=True)
class Used:
    """What a machine used within a period: seconds by state, and products with time."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    vcpu_hours: float = 0.0  # while running
    memory_gib_hours: float = 0.0  # while running or standing by
    disk_gib_hours: float = 0.0  # in every state
    checkpoint_gib_hours: float = 0.0
    disk_bytes: int = 0  # as last weighed
    checkpoint_bytes: int = 0  # 0 once the machine is gone


@dataclass(frozen=True)
class Rates:
    """Prices in millionths of `currency` per hour; zero unless the daemon is told others."""

    currency: str = "EUR"
    vcpu: int = 0
    memory_gib: int = 0
    disk_gib: int = 0


@dataclass(frozen=True)
class ApiKey:
    """An API key as listed; the key itself is stored hashed only. Times are epoch seconds, 0 = never."""

    id: str
    user_id: str
    name: str
    prefix: str
    created_at: int
    last_used_at: int = 0
    expires_at: int = 0


@dataclass(frozen=True)
class Token:
    """What an API key was exchanged for: the token itself, shown this once, and when it expires (epoch seconds)."""

    token: str = field(repr=False)
    expires_at: int
    user_id: str


@dataclass(frozen=True)
class SshKey:
    """A user's public SSH key (one authorized_keys line); with a device id there is one key per device."""

    user_id: str
    public_key: str
    fingerprint: str
    device_id: str = ""
    label: str = ""


@dataclass(frozen=True)
class Caller:
    """Who makes a request: the user and the key that proved it.

    With `machine_id` it is the machine itself that speaks, in its owner's name and with fewer rights.
    """

    user_id: str
    key_id: str
    machine_id: str = ""


@dataclass(frozen=True)
class Image:
    """A bootable system: `digest` names its recipe and its directory in the pool."""

    digest: str
    name: str
    created_at: int  # epoch seconds
    disk_bytes: int  # virtual size of the root disk
    kernel_version: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine as the store keeps it."""

    id: str  # UUID
    name: str
    owner_id: str
    image: str  # digest of the image it was made from (its kernel and initrd are booted)
    image_name: str
    size: Size
    disk_bytes: int
    address: str  # stable private IPv4 address
    mac: str
    status: MachineStatus
    created_at: int  # epoch seconds
    status_reason: str = ""  # why it failed, did not start, or stands still
    restart_policy: str = "always"
    labels: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""  # the run that is this machine now; empty without one
    boot_time_ms: int = 0  # from the start order until the agent answered, last boot or restore
    head: str = ""  # id of the checkpoint that the present state descends from; empty = none
    last_connected_ms: int = 0  # epoch milliseconds; 0 = nobody has used it yet
    delete_at_ms: int = 0  # epoch milliseconds; 0 = never
    delete_after_secs: int = 0  # the timer behind delete_at_ms, as it was set; or
    delete_after_cron: str = ""  # the cron line in UTC
    auto_suspend_secs: int = 0  # seconds without use after which it is suspended; 0 = never
    auto_hibernate_secs: int = 0  # seconds without use after which it is hibernated; 0 = never
    hibernated_at_ms: int = 0  # epoch milliseconds, while it has a capture to wake from; else 0
    idle_ignore_outbound: bool = False
    bot_protection: str = "off"  # "on", "sleep_only" or "off"
    ssh_port: int = 0  # TCP port of the host that leads to the guest's sshd, kept for life; 0 = none
    source: str = ""  # what it is a copy of: "fork/<machine>" or "snapshot/<name>:v<N>"; empty = of no machine
    source_id: str = ""  # id of that machine or snapshot

    @property
    def identity(self) -> Identity:
        """Who it is to its own guest."""
        return Identity(self.name, self.id, self.address, self.mac)

    org_id: str = ""  # organization it belongs to; empty = its owner's own
    shared: bool = False  # all members of that organization may use it
    isolated: bool = False  # has no way to boxd from inside: no command, no metadata
    networks: tuple[str, ...] = ()  # it reaches machines that share one of these; none: those that have none
    egress_allow: tuple[str, ...] = ()  # names and IPv4 ranges of the world that it may reach; none: all


@dataclass(frozen=True)
class Identity:
    """Who a machine is to its own guest: what a copy of it must not share.

    Attributes:
        name: its hostname.
        machine_id: UUID; the guest's /etc/machine-id, without the hyphens.
        address, mac: of its network card.
    """

    name: str
    machine_id: str
    address: str
    mac: str


@dataclass(frozen=True)
class Checkpoint:
    """A capture owned by a machine, as the store keeps it."""

    id: str  # cp_ + 20 base32 characters
    machine_id: str
    name: str
    status: CheckpointStatus
    created_at_ms: int  # epoch milliseconds
    created_by: str  # user id
    parent: str = ""  # id of the checkpoint the machine descended from when this was saved; empty = none
    size: Size = Size(0, 0)  # hardware at the capture
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
    size: Size = Size(0, 0)
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
class Space:
    """Bytes of a filesystem."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Progress:
    """How far a long operation is. `fraction` is 0..1, or None where it cannot be known."""

    operation: str  # "save", "restore", "build", ...
    step: str
    fraction: float | None = None
    detail: str = ""


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
class Route:
    """A host name that leads to a port of a machine: `<name>.<machine>.<zone>`, or `<machine>.<zone>` if unnamed."""

    machine_id: str
    name: str  # empty: the machine's default route
    port: int  # of the guest; 0 = found by what the guest listens on (the default route only)


@dataclass(frozen=True)
class RouteView:
    """A route as users see it: `port` is the one that it leads to now."""

    route: Route
    machine: Machine
    port: int


@dataclass(frozen=True)
class ExposedPort:
    """A public port of the host that leads to a port of a machine; it keeps its number for as long as it exists."""

    machine_id: str
    port: int  # of the guest
    public_port: int
    protocol: str = "tcp"  # "tcp", "udp" or "both"

    @property
    def protocols(self) -> Sequence[str]:
        """The protocols one by one."""
        return ("tcp", "udp") if self.protocol == "both" else (self.protocol,)


@dataclass(frozen=True)
class CustomDomain:
    """A domain of its owner's own that leads to a machine, and `<route>.<domain>` to its named routes."""

    domain: str
    machine_id: str


@dataclass(frozen=True)
class CustomDomainView:
    """A domain of one's own as users see it: `problem` is why it is not served yet, empty if it is."""

    domain: str
    machine: Machine
    problem: str


@dataclass(frozen=True)
class Way:
    """One way in to a machine, for whoever keeps the gates: by HTTPS under a host name, or by a public TCP port.

    Attributes:
        port: port of the guest; 0 = found by what the guest listens on.
        host: the part of the host name before the zone; empty for the other two.
        domain: a whole host name outside the zone.
        public_port: the public port; 0 for a host name.
        protocol: of the public port: "tcp" or "udp".
    """

    port: int
    host: str = ""
    domain: str = ""
    public_port: int = 0
    protocol: str = "tcp"


@dataclass(frozen=True)
class Held:
    """What a swap cost those who came in meanwhile: how many waited, and how long the longest did."""

    connections: int = 0
    longest_ms: int = 0

    def and_also(self, other: Held) -> Held:
        """Both together."""
        return Held(self.connections + other.connections, max(self.longest_ms, other.longest_ms))


@dataclass(frozen=True)
class Operation:
    """A journalled operation: what was begun, on which machine, and the last step that was entered."""

    id: int
    machine_id: str
    kind: str
    detail: Mapping[str, Any]
    step: str
    started_at_ms: int


class Outcome(StrEnum):
    """How something that was done to a machine ended."""

    OK = "ok"
    FAILED = "failed"
    TAKEN_OVER = "taken over"  # ended because the machine was removed


@dataclass(frozen=True)
class Event:
    """An entry of a machine's event log.

    Attributes:
        at_ms: when it began, epoch milliseconds.
        actor: id of the user who ordered it; empty: boxd itself, or the guest.
        operation: what was done, e.g. "save"; "run ended" for an end that nobody ordered.
        detail: what it was done to, e.g. a checkpoint's name.
        error: one sentence, unless it is ok.
    """

    machine_id: str
    at_ms: int
    actor: str
    operation: str
    detail: str
    outcome: Outcome
    duration_ms: int = 0
    error: str = ""


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


@dataclass(frozen=True)
class ExecRequest:
    """A command for the guest: one shell line, run by `sh -c` as user boxd in /home/boxd."""

    command: str
    tty: bool = False
    cols: int = 80
    rows: int = 24


@dataclass(frozen=True)
class ExecOutput:
    """A piece of a command's output."""

    data: bytes
    is_stderr: bool = False


@dataclass(frozen=True)
class DirEntry:
    """One entry of a directory listing; times are epoch seconds."""

    name: str
    is_dir: bool
    size_bytes: int
    permissions: str  # `ls` style, e.g. "-rw-r--r--"
    modified_at: int
    added_at: int


@dataclass(frozen=True)
class Listing:
    """A directory's entries, sorted by name; `truncated` if there are more than the cap."""

    entries: tuple[DirEntry, ...]
    truncated: bool


@dataclass(frozen=True)
class Accelerator:
    """Which accelerator runs guests, and why: `name` is "kvm" or "tcg", `reason` a sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class Finding:
    """One line of `boxd doctor`: what was looked at, how it stands, what to do."""

    subject: str
    verdict: str  # "ok", "warning" or "missing"
    detail: str
    remedy: str = ""
