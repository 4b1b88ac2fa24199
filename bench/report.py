"""Results for people and for programs: a table on the terminal, JSON and SVG plots in bench/results/."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import matplotlib
from rich.console import Console
from rich.table import Table

from bench.figures import Spread
from bench.result import Result

matplotlib.use("svg")  # before pyplot loads: there may be no display
from matplotlib import pyplot

pyplot.rcParams["svg.fonttype"] = "none"  # text stays text, which can be searched

RESULTS = Path(__file__).parent / "results"

WIDEST = 1000
"""Columns of a table that nothing narrows."""


def show(result: Result, console: Console) -> None:
    """What a result was measured under, its table, and its notes."""
    if result.setting:
        console.print(", ".join(f"{key} {value}" for key, value in result.setting.items()), highlight=False)
    spreads = any(isinstance(value, Spread) for row in result.rows for value in row.values())
    caption = "p50 / p99 / max (n)" if spreads else None
    table = _across(result, caption)
    if console.measure(table, options=console.options.update(max_width=WIDEST)).maximum > console.width:
        table = _down(result, caption)
    console.print(table)
    for note in result.notes:
        console.print(f"  {note}")


def _across(result: Result, caption: str | None) -> Table:
    """A line for each row."""
    table = Table(title=result.title, title_justify="left", caption=caption, caption_justify="left")
    for name in result.rows[0] if result.rows else ():
        table.add_column(name, justify="left" if isinstance(result.rows[0][name], str) else "right")
    for row in result.rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _down(result: Result, caption: str | None) -> Table:
    """A line for each figure: where a row is wider than the terminal."""
    table = Table(title=result.title, title_justify="left", caption=caption, caption_justify="left")
    table.show_header = False
    for row in result.rows:
        for name, value in row.items():
            table.add_row(name, _cell(value))
        table.add_section()
    return table


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)


def write(results: Sequence[Result], host: Mapping[str, object], stamp: str) -> list[Path]:
    """Write everything; the files."""
    RESULTS.mkdir(exist_ok=True)
    data = RESULTS / f"{stamp}.json"
    content = {"host": dict(host), "results": [asdict(result) for result in results]}
    data.write_text(json.dumps(content, indent=1) + "\n")
    return [data, *(_draw(result, RESULTS / f"{stamp}-{result.name}.svg") for result in results if result.plots)]


def _draw(result: Result, picture: Path) -> Path:
    """The plots of one result, two beside each other."""
    across = min(2, len(result.plots))
    down = -(-len(result.plots) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(7 * across, 4 * down), squeeze=False)
    for axis in axes.flat[len(result.plots) :]:
        axis.axis("off")
    for axis, plot in zip(axes.flat, result.plots, strict=False):
        for curve in plot.curves:
            axis.plot(curve.xs, curve.ys, curve.style, label=curve.name)
        axis.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
        axis.set_ylim(bottom=0)
        axis.legend()
    figure.tight_layout()
    figure.savefig(picture)
    pyplot.close(figure)
    return picture
