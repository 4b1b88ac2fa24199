"""`scripts/bench` tells what it measures, and keeps what it has measured when it is interrupted."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench import __main__, report
from bench.clients import Seen, row
from bench.figures import slope, spread
from bench.place import Options
from bench.progress import Tell, telling
from bench.result import Result


def test_what_is_measured_is_told_line_by_line_where_there_is_no_terminal() -> None:
    file = io.StringIO()
    with telling(Console(file=file, width=20), "fork") as tell:
        tell("10 MiB/s, fork 1 of 3")
        assert file.getvalue() == "  fork: 10 MiB/s, fork 1 of 3 (0 s)\n"


def test_on_a_terminal_the_line_is_gone_in_the_end() -> None:
    file = io.StringIO()
    with telling(Console(file=file, width=60, force_terminal=True), "fork") as tell:
        tell("fork 1 of 3")
    assert file.getvalue().endswith("\x1b[1A\x1b[2K")  # up, and that line cleared


def test_a_benchmark_that_fails_costs_no_other_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def mounted() -> Iterator[Path]:
        yield tmp_path

    async def measure(lab: object, name: str, options: Options, tell: Tell) -> Result:
        if name == "fork":
            raise OSError("the host is on fire")
        tell("machine 1 of 2")
        return Result(name, "New machines", [{"machines": 2}])

    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    for name, fake in (("mounted", mounted), ("Lab", Path), ("measure", measure), ("describe", dict)):
        monkeypatch.setattr(__main__, name, fake)
    done = CliRunner().invoke(__main__.main, ["new", "fork", "cycles", "--runs", "2"])
    assert done.exit_code == 1
    assert "new: machine 1 of 2" in done.output
    assert "Error: failed: fork" in done.output
    [written] = (tmp_path / "results").iterdir()
    results = {result["name"]: result for result in json.loads(written.read_text())["results"]}
    assert [name for name, result in results.items() if result["failed"]] == ["fork"]
    assert results["fork"]["notes"] == ["OSError: the host is on fire"]
    assert results["cycles"]["rows"] == [{"machines": 2}]


def test_a_median_of_nothing_is_shown_as_none() -> None:
    file = io.StringIO()
    rows = [row("SSH", "during restores", []), row("SSH", "in all", [Seen(0, 0.01), Seen(0, 9, "refused")])]
    report.show(Result("hold", "Waits", rows), Console(file=file, width=120))
    first, second = (line for line in file.getvalue().splitlines() if "SSH" in line)
    assert [cell.strip() for cell in first.split("│")[3:6]] == ["0", "0", "-"]
    assert second.split("│")[5].strip() == "10.0 / - / 10.0 (1)", "who failed is counted, and has no wait"


def test_every_sample_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    [written] = report.write([Result("exec", "Commands", [{"alone": spread([3.0, 1.0, 8.0])}])], {}, "now")
    [result] = json.loads(written.read_text())["results"]
    alone = result["rows"][0]["alone"]
    assert (alone["n"], alone["p50"], alone["max"], alone["samples"]) == (3, 3.0, 8.0, [3.0, 1.0, 8.0])


def test_a_99th_percentile_needs_a_hundred_samples() -> None:
    assert spread([1.0] * 98 + [9.0]).p99 is None
    assert spread([1.0] * 99 + [9.0]).p99 == pytest.approx(1.08)


def test_a_slope_needs_two_points() -> None:
    assert slope([16, 16], [1, 2]) is None
    assert slope([16, 32], [1, 17]) == pytest.approx(1)


def test_the_help_tells_which_benchmarks_take_sizes_and_rates() -> None:
    text = " ".join(CliRunner().invoke(__main__.main, ["-h"]).output.split())
    assert "Sizes of guests, MiB: save, restore, sleep, growth." in text
    assert "Memory that a guest writes, MiB a second: save, restore, sleep, fork, growth." in text


@pytest.mark.parametrize(("width", "lines"), [(300, 2), (80, 16)])
def test_no_figure_is_cut_however_narrow_the_terminal_is(width: int, lines: int) -> None:
    file, figure = io.StringIO(), spread([1234.0, 1250.0, 1278.0])
    result = Result("save", "Saves", [{f"column {number}": figure for number in range(8)}] * 2)
    report.show(result, Console(file=file, width=width))
    text = file.getvalue()
    assert "…" not in text
    assert text.count(str(figure)) == 16
    assert sum(str(figure) in line for line in text.splitlines()) == lines
