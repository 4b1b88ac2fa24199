"""What a sub-benchmark found: rows of figures, each with what it was measured under, and curves to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Row = Mapping[str, object]
"""Columns in the order they are shown; numbers are in the unit that the column's name ends with."""


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
    """Everything of one sub-benchmark; `notes` are sentences that belong below its table."""

    name: str
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    plots: Sequence[Plot] = field(default=())
