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
    """Points of one line in a plot."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


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
    """

    name: str
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    plots: Sequence[Plot] = field(default=())
    setting: Mapping[str, object] = field(default_factory=dict)
