"""Machines and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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


@dataclass(frozen=True)
class Size:
    """The hardware of a machine: number of vCPUs and bytes of RAM."""

    vcpu: int
    memory_bytes: int


NO_SIZE = Size(0, 0)
"""Of what is not known yet."""


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
