"""What the daemon measures of itself, for Prometheus.

One `Metrics` a daemon, given to whoever has something to tell. Names follow Prometheus' conventions: base units
(seconds, bytes) in the name, counters end with `_total`. No metric names a machine or a user: what is scraped may be
seen by others, and a label per machine would grow without end. docs/metrics.md lists them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from openboxd import __version__
from openboxd.model import MachineStatus, Usage

CONTENT_TYPE = CONTENT_TYPE_LATEST

At = Literal["call", "operation", "scrape"]
"""What failed: a call to the API, an operation on a machine (also if no call waits for it), or counting for us."""

STATES = tuple(status for status in MachineStatus if status is not MachineStatus.DESTROYED)
"""Of machines that exist."""

# Buckets, in seconds. What is promised (bench/targets.py) is an edge: the share that keeps it can be read off.

PAUSES = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.1, 0.12, 0.25, 0.5, 1, 5)
"""For vCPUs that stand still. A pause is tens of milliseconds."""

SAVES = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 15, 30, 60, 180)
"""For saves, until what was saved is ready."""

RESTORES = (0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.75, 1, 2, 5, 15, 60)
"""For restores: until the guest runs, and until it has answered."""

HOLDS = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.75, 1, 2, 5, 15, 60)
"""For connections that wait at a gate: as long as a restore, or as a daemon that is restarted."""

DURATIONS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.6, 0.75, 1, 2, 2.5, 3, 4, 8, 15, 30, 60, 180, 600)
"""For whole operations."""


class Metrics:
    """See the module. Everything but `text` may be used from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.operations = self._histogram(
            "boxd_operation_seconds",
            "Operations on machines, from the order to the outcome: what they waited for each other included",
            DURATIONS,
            "operation",
            "outcome",
        )
        self.saves = self._histogram(
            "boxd_save_seconds",
            "Time from the beginning of a save until what was saved is ready; of those that succeeded",
            SAVES,
            "operation",
        )
        for operation in ("save", "snapshot"):
            self.saves.labels(operation)
        self.pauses = self._histogram(
            "boxd_save_pause_seconds", "Time the vCPUs of a machine stood still for a capture", PAUSES
        )
        self.restores = self._histogram(
            "boxd_restore_runs_seconds", "Time from the beginning of a restore until the guest runs", RESTORES
        )
        self.answers = self._histogram(
            "boxd_restore_answers_seconds", "Time from the beginning of a restore until the guest answers", RESTORES
        )
        self.holds = self._histogram(
            "boxd_hold_wait_seconds",
            "Time that a connection waited at a gate while its machine was swapped",
            HOLDS,
        )
        self._errors = Counter(
            "boxd_errors", "Calls and operations that failed", ("at", "error"), registry=self.registry
        )
        self._machines = self._gauge("boxd_machines", "Machines by status", "status")
        self._pool_size = self._gauge("boxd_pool_size_bytes", "Size of the pool's filesystem")
        self._pool_free = self._gauge("boxd_pool_free_bytes", "Bytes of the pool's filesystem that boxd may yet use")
        self._held = self._gauge(
            "boxd_pool_held_bytes",
            "Allocated bytes of the pool by what holds them: own, of that alone, and shared, counted for each holder",
            "of",
            "kind",
        )
        self._held_at = self._gauge(
            "boxd_pool_held_timestamp_seconds", "When boxd_pool_held_bytes was counted, in epoch seconds; 0: not yet"
        )
        self._gauge("boxd_build_info", "The version of boxd; always 1", "version").labels(__version__).set(1)

    def _histogram(self, name: str, help_text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(name, help_text, labels, registry=self.registry, buckets=buckets)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(name, help_text, labels, registry=self.registry)

    def failed(self, error: BaseException, at: At) -> None:
        """Count an error, once for each place where it counts."""
        self._errors.labels(at, type(error).__name__).inc()

    def show_machines(self, counts: Mapping[str, int]) -> None:
        """The number of machines in each status; a status that is left out has none."""
        for status in STATES:
            self._machines.labels(status).set(counts.get(status, 0))

    def show_pool(self, total: int, free: int) -> None:
        """Bytes of the pool's filesystem."""
        self._pool_size.set(total)
        self._pool_free.set(free)

    def show_held(self, held: Mapping[str, Usage], at: float) -> None:
        """What disks, captures and images hold of the pool, as counted at a moment (epoch seconds)."""
        for of, usage in held.items():
            self._held.labels(of, "own").set(usage.exclusive_bytes)
            self._held.labels(of, "shared").set(usage.shared_bytes)
        self._held_at.set(at)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry)
