"""The benchmarks work: each in its short form, and what they write. How fast anything is they tell, not this."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from bench import report
from bench.__main__ import NAMES, SHORT, measure
from bench.host import describe
from tests.lab import Lab

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("name", NAMES)
async def test_a_benchmark_in_short(lab: Lab, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = await measure(lab, name, SHORT)
    assert result.rows
    numbers = [value for row in result.rows for value in row.values() if isinstance(value, float)]
    assert numbers
    assert all(value == value for value in numbers), "none is missing"
    report.show(result, Console(width=240))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    files = report.write([result], describe(), "now")
    assert json.loads(files[0].read_text())["results"][0]["rows"] == [dict(row) for row in result.rows]
    if result.plots:
        assert files[1].read_text().count("<svg") == 1
