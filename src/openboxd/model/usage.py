"""What users may have and have had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from openboxd.model.machines import Size


@dataclass(frozen=True)
class Quota:
    """What a user's machines may take altogether; 0 = without limit."""

    machines: int = 0  # that exist, in whatever state
    vcpu: int = 0  # of those that run
    memory_bytes: int = 0  # of those that run
    pool_bytes: int = 0  # disks and checkpoints, in whatever state


@dataclass(frozen=True)
class Scope:
    """Which machines a caller sees: those of `owner_id`, those shared with `orgs`; with `within`, of these only what
    belongs to that organization; with `only`, that one at most."""

    owner_id: str = ""  # empty: nobody's
    orgs: frozenset[str] = frozenset()
    only: str = ""
    within: str = ""


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
