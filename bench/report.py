"""Results for people and for programs: a table on the terminal, JSON and an SVG plot in bench/results/."""

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

RESULTS = Path(__file__).parent / "results"


def show(result: Result, console: Console) -> None:
    """What a result was measured under, its table, and its notes."""
    if result.setting:
        console.print(", ".join(f"{key} {value}" for key, value in result.setting.items()), highlight=False)
    spreads = any(isinstance(value, Spread) for row in result.rows for value in row.values())
    caption = "p50 / p99 / max (n)" if spreads else None
    table = Table(title=result.title, title_justify="left", caption=caption, caption_justify="left")
    for name in result.rows[0] if result.rows else ():
        table.add_column(name, justify="left" if isinstance(result.rows[0][name], str) else "right")
    for row in result.rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)
    for note in result.notes:
        console.print(f"  {note}")


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
    plots = [plot for result in results for plot in result.plots]
    if not plots:
        return [data]
    figure, axes = pyplot.subplots(len(plots), 1, figsize=(9, 4 * len(plots)), squeeze=False)
    for axis, plot in zip(axes.flat, plots, strict=True):
        for curve in plot.curves:
            axis.plot(curve.xs, curve.ys, marker="o", label=curve.name)
        axis.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
        axis.set_ylim(bottom=0)
        axis.legend()
    figure.tight_layout()
    picture = data.with_suffix(".svg")
    figure.savefig(picture)
    pyplot.close(figure)
    return [data, picture]
