"""What boxd wants to reach, on 2 cores without KVM and with a Debian guest of 1 GiB, and whether figures do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.figures import Spread
from bench.result import Result, Row


@dataclass(frozen=True)
class Target:
    """One promise.

    Attributes:
        of: the sub-benchmark that measures it.
        what: for people, with its unit.
        column, share: the figure; of a `Spread` its `p50`, `p99` or `max`.
        limit: what it must not exceed, or with `least` must not be below.
        where: the row that counts; every other guest or load is only looked at.
    """

    of: str
    what: str
    column: str
    limit: float
    share: str = "p50"
    least: bool = False
    where: Callable[[Row], bool] = lambda row: True

    def reached(self, value: float) -> bool:
        """Whether a figure keeps the promise."""
        return value >= self.limit if self.least else value <= self.limit


def _busy(row: Row) -> bool:
    """A guest of 1 GiB, where sizes differ, that writes about 10 MiB a second."""
    return row.get("MiB", 1024) == 1024 and 5 <= float(str(row["dirty MiB/s"])) <= 20


def _twenty(row: Row) -> bool:
    return int(str(row["machines"])) == 20


def _snapshots(row: Row) -> bool:
    return str(row["way"]).startswith("snapshot-save")


TARGETS = (
    Target("save", "pause, half of them, ms", "pause", 25, where=_busy),
    Target("save", "pause, 99th percentile, ms", "pause", 80, "p99", where=_busy),
    Target("save", "until ready, ms", "ready", 2000, where=_busy),
    Target("save", "new bytes for each that changed", "new/changed", 1.3, where=_busy),
    Target("restore", "until the guest runs, ms", "guest runs", 150, where=_busy),
    Target("restore", "until a first command has answered, ms", "reply", 600, where=_busy),
    Target("sleep", "resume, ms", "resume", 20, where=_busy),
    Target("sleep", "wake, until the guest has answered, ms", "wake answers", 500, where=_busy),
    Target("fork", "pause of the source, ms", "pause", 100, where=_busy),
    Target("fork", "until the copy has answered, ms", "answer", 3000, where=_busy),
    Target("new", "until a first command has answered, ms", "first answer", 2500),
    Target("new", "memory of 20 machines, MiB", "all MiB of RAM", 3072, where=_twenty),
    Target("new", "disk of a machine, MB", "MB of disk each", 20),
    Target("peers", "snapshot-save's pause, times ours", "pause / ours", 50, least=True, where=_snapshots),
    Target("peers", "snapshot-load's reply, times ours", "reply / ours", 5, least=True, where=_snapshots),
)


def judge(results: Sequence[Result]) -> Result | None:
    """A table of the targets that these results tell something about; None if there are none."""
    rows = [_verdict(target, result) for target in TARGETS for result in results if result.name == target.of]
    return Result("targets", "Targets (set for 2 cores, no KVM, 1 GiB, writing 10 MiB/s)", rows) if rows else None


def _verdict(target: Target, result: Result) -> Row:
    measured = next((row for row in result.rows if target.where(row)), {}).get(target.column)
    value = _figure(measured, target.share)
    return {
        "of": target.of,
        "what": target.what,
        "target": f"{'at least' if target.least else 'at most'} {target.limit:g}",
        "seen": None if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}",
        "samples": measured.n if isinstance(measured, Spread) else None,
        "reached": "not measured" if value is None else "yes" if target.reached(value) else "no",
    }


def _figure(value: object, share: str) -> float | None:
    if isinstance(value, Spread):
        return {"p50": value.p50, "p99": value.p99, "max": value.max}[share]
    return float(value) if isinstance(value, (int, float)) else None
