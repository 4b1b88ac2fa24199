"""What the daemon measures of itself, for Prometheus.

One `Metrics` a daemon, given to whoever has something to tell. Names follow Prometheus' conventions: base units
(seconds, bytes) in the name, counters end with `_total`. No metric names a machine or a user: what is scraped may be
seen by others, and a label per machine would grow without end.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST

PAUSES = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.12, 0.25, 0.5, 1, 5)
"""Seconds: buckets for vCPUs that stand still. A pause is tens of milliseconds."""

WAITS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 15, 60)
"""Seconds: buckets for connections that wait at a gate, and for restores."""

DURATIONS = (0.05, 0.1, 0.25, 0.5, 0.75, 1, 2, 4, 8, 15, 30, 60, 180, 600)
"""Seconds: buckets for whole operations."""


class Metrics:
    """See the module. Everything but `text` may be used from any thread."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.operations = Histogram(
            "boxd_operation_seconds",
            "Operations on machines, from the order to the outcome",
            ("operation", "outcome"),
            registry=registry,
            buckets=DURATIONS,
        )
        self.pauses = Histogram(
            "boxd_save_pause_seconds",
            "Time the vCPUs of a machine stood still for a capture",
            registry=registry,
            buckets=PAUSES,
        )
        self.restores = Histogram(
            "boxd_restore_runs_seconds",
            "Time from the order of a restore until the guest runs",
            registry=registry,
            buckets=WAITS,
        )
        self.holds = Histogram(
            "boxd_hold_wait_seconds",
            "Time that a connection waited at a gate while its machine was swapped",
            registry=registry,
            buckets=WAITS,
        )
        self.errors = Counter("boxd_errors", "Calls and operations that failed", ("error",), registry=registry)
        self._machines = Gauge("boxd_machines", "Machines by status", ("status",), registry=registry)
        self._pool = Gauge("boxd_pool_bytes", "Bytes of the pool's filesystem", ("kind",), registry=registry)
        self._captures = Gauge(
            "boxd_capture_bytes",
            "Allocated bytes of captures: those that only one of them holds, and those that are shared",
            ("kind",),
            registry=registry,
        )

    def failed(self, error: BaseException) -> None:
        """Count an error."""
        self.errors.labels(type(error).__name__).inc()

    def show_machines(self, counts: Mapping[str, int]) -> None:
        """The number of machines in each status; a status that is left out has none."""
        self._machines.clear()
        for status, count in counts.items():
            self._machines.labels(status).set(count)

    def show_pool(self, total: int, free: int) -> None:
        """Bytes of the pool's filesystem."""
        self._pool.labels("total").set(total)
        self._pool.labels("free").set(free)

    def show_captures(self, own: int, shared: int) -> None:
        """Bytes that captures hold."""
        self._captures.labels("own").set(own)
        self._captures.labels("shared").set(shared)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry)
