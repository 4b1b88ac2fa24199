"""Medians of this run beside those of an earlier one, to see what became slower. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.figures import Spread
from bench.result import Result, Row

NOTABLE = 1.25
"""Times by which a median has to differ to be shown: less is the host's mood."""

_RATE = "dirty MiB/s"


def compare(before: Mapping[str, Any], results: Sequence[Result]) -> Result:
    """A table of what differs notably, the worst first.

    `before` is what report.write has written. Rows are of the same kind if their words, sizes and numbers of machines
    are the same, and the guests wrote about as much.
    """
    earlier = {result["name"]: result["rows"] for result in before["results"]}
    pairs = [
        (result.name, row, old)
        for result in results
        for row in result.rows
        for old in earlier.get(result.name, ())
        if _kind(row) == _kind(old) and _as_busy(row, old)
    ]
    found = [each for pair in pairs for each in _differences(*pair)]
    found.sort(key=lambda row: -float(str(row["times"])))
    compared = f"{len(pairs)} rows are in both; shown is what differs {NOTABLE:g} times or more, in either direction"
    return Result("against", "Medians beside those of the earlier run", found, (compared,))


def _kind(row: Mapping[str, object]) -> tuple[str, ...]:
    """What a row is about, but for how busy its guest was."""
    words = [value for name, value in row.items() if isinstance(value, str) and "slope" not in name]
    return (*words, *(f"{row[name]} {name}" for name in ("MiB", "machines") if name in row))


def _as_busy(row: Row, old: Mapping[str, Any]) -> bool:
    now, was = (float(str(each.get(_RATE, 0))) for each in (row, old))
    return abs(now - was) <= max(2, was / 4)


def _differences(name: str, row: Row, old: Mapping[str, Any]) -> Iterator[Row]:
    for column, value in row.items():
        was = old.get(column)
        if not (isinstance(value, Spread) and isinstance(was, Mapping) and value.p50 and was["p50"]):
            continue
        times = value.p50 / was["p50"]
        if times >= NOTABLE or times <= 1 / NOTABLE:
            busy = (f"{row[_RATE]} {_RATE}",) if _RATE in row else ()
            about = ", ".join((*_kind(row), *busy))
            shown = {"before": float(was["p50"]), "now": value.p50, "times": round(times, 2)}
            yield {"of": name, "row": about, "figure": column, **shown}
