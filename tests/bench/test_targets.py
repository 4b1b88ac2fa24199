"""Figures of a benchmark are held against what is wanted, those that count and no others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.figures import spread
from bench.result import Result
from bench.targets import judge


def saves(pauses: Sequence[float], memory: int = 1024, rate: float = 9.8) -> Result:
    row = {"MiB": memory, "dirty MiB/s": rate, "runs": len(pauses)}
    row |= {"pause": spread(pauses), "ready": spread([900.0])}
    return Result("save", "Saves", [row | {"new/changed": spread([1.0])}])


def verdicts(*results: Result) -> dict[str, tuple[str | None, str]]:
    table = judge(results)
    return {} if table is None else {str(row["what"]): (row["seen"], row["reached"]) for row in table.rows}


def test_what_is_reached_and_what_is_not() -> None:
    found = verdicts(saves([20.0] * 90 + [200.0] * 10))
    assert found["pause, half of them, ms"] == ("20", "yes")
    assert found["pause, 99th percentile, ms"] == ("200", "no")
    assert found["new bytes for each that changed"] == ("1", "yes")


def test_a_verdict_tells_how_many_samples_it_is_of() -> None:
    table = judge([saves([20.0, 30.0])])
    assert table is not None
    assert [row["samples"] for row in table.rows] == [2, 2, 1, 1]


def test_of_few_samples_no_percentile_is_judged() -> None:
    assert verdicts(saves([20.0, 20.0, 200.0]))["pause, 99th percentile, ms"] == (None, "not measured")


@pytest.mark.parametrize(("memory", "rate"), [(512, 9.8), (4096, 9.8), (1024, 0.0), (1024, 95.0)])
def test_other_guests_and_loads_do_not_count(memory: int, rate: float) -> None:
    assert set(verdicts(saves([200.0], memory, rate)).values()) == {(None, "not measured")}


@pytest.mark.parametrize(("times", "reached"), [(49.9, "no"), (50.0, "yes")])
def test_beside_a_peer_more_is_better(times: float, reached: str) -> None:
    row = {"way": "snapshot-save (qcow2)", "pause / ours": times, "reply / ours": 1.4}
    found = verdicts(Result("peers", "Peers", [row, row | {"way": "mapped-ram", "pause / ours": 1.0}]))
    assert found == {
        "snapshot-save's pause, times ours": (f"{times:.3g}", reached),
        "snapshot-load's reply, times ours": ("1.4", "no"),
    }


def test_what_was_not_measured_is_not_judged() -> None:
    row = {"machines": 2, "first answer": spread([]), "all MiB of RAM": 100.0, "MB of disk each": 0.2}
    assert verdicts(Result("new", "New", [row])) == {
        "until a first command has answered, ms": (None, "not measured"),
        "memory of 20 machines, MiB": (None, "not measured"),
        "disk of a machine, MB": ("0.2", "yes"),
    }
    assert judge([]) is None
