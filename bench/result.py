"""What a sub-benchmark found: rows of figures, each with what it was measured under, and curves to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Row = Mapping[str, object]
"""Columns in the order they are shown; numbers are in the unit that the column's name ends with or the title names.

A `Spread` (figures.py) stands for all samples of a column. None is a figure that there is none of.
"""


@dataclass(frozen=True)
class Curve:
    """Points in a plot. `style` is matplotlib's: dots that a line connects, unless it says something else."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    style: str = "o-"


@dataclass(frozen=True)
class Plot:
    """One plot: what its axes are, and its lines."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]


@dataclass(frozen=True)
class Result:
    """Everything of one sub-benchmark.

    Attributes:
        notes: sentences that belong below its table.
        setting: the guest and the host's load that it was measured with.
        failed: it came to no end; the notes tell why.
    """

    name: str
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    plots: Sequence[Plot] = field(default=())
    setting: Mapping[str, object] = field(default_factory=dict)
    failed: bool = False
