"""The benchmarks work: each in its short form, and what they write. How fast anything is they tell, not this."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console

from bench import report
from bench.__main__ import NAMES, SHORT, measure
from bench.figures import Spread
from bench.host import describe
from bench.result import Result
from bench.targets import TARGETS
from tests.lab import Lab

pytestmark = pytest.mark.guest


def _figures(result: Result) -> list[float]:
    """All of them, every sample too."""
    figures: list[float] = []
    for value in (value for row in result.rows for value in row.values()):
        if isinstance(value, Spread):
            assert value.n == len(value.samples)
            figures += value.samples
        elif isinstance(value, float):
            figures.append(value)
    return figures


def _saves(result: Result) -> None:
    for row in result.rows:
        assert isinstance(ratio := row["new/changed"], Spread) and ratio.n == SHORT.runs
        assert isinstance(gap := row["gap in guest"], Spread) and gap.n == 1


def _waits(result: Result) -> None:
    assert [row["failed"] for row in result.rows] == [0] * len(result.rows), result.notes


def _rounds(result: Result) -> None:
    before, after = str(result.rows[0]["descriptors"]).split(" -> ")
    assert before == after, "a round leaves descriptors open in the daemon"


def _growth(result: Result) -> None:
    found = [(row["with"], row["at"]) for row in result.rows]
    assert ("checkpoints", "3") in found and ("checkpoints", "5") in found, "as many as were listed"
    assert ("size of the disk", "32 GiB") in found
    assert all(value != "-" for row in result.rows for value in row.values()), "every slope is known"


def _peers(result: Result) -> None:
    for row in result.rows:
        assert all(isinstance(row[f"{what} / ours"], float) for what in ("pause", "save", "second MB", "reply"))


PROMISES: Mapping[str, Callable[[Result], None]] = {
    "save": _saves,
    "hold": _waits,
    "cycles": _rounds,
    "growth": _growth,
    "peers": _peers,
}
"""What must be true of a benchmark's figures besides, whatever the host's speed is."""


@pytest.mark.timeout(900)  # growth boots two guests, on a busy host a minute each
@pytest.mark.parametrize("name", NAMES)
async def test_a_benchmark_in_short(lab: Lab, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = await measure(lab, name, SHORT)
    assert result.rows
    assert all(map(math.isfinite, _figures(result))), "none is missing"
    assert _figures(result)
    wanted = [target.column for target in TARGETS if target.of == name]
    assert set(wanted) <= result.rows[0].keys(), "each target has its figure"
    if check := PROMISES.get(name):
        check(result)
    assert result.setting["accelerator"] in ("tcg", "kvm")
    assert all(result.setting[key] for key in ("qemu", "vcpus", "image", "guest_kernel"))
    report.show(result, Console(width=240))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    files = report.write([result], describe(), "now")
    assert json.loads(files[0].read_text())["results"] == json.loads(json.dumps([asdict(result)]))
    if result.plots:
        assert [file.name for file in files] == ["now.json", f"now-{name}.svg"]
        assert files[1].read_text().count("<svg") == 1
