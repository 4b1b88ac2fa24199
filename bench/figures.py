"""Numbers about numbers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

MANY = 100
"""Samples of which a 99th percentile can be told: of fewer it would be the largest."""


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all lie, 0 to 1; between two values it is interpolated."""
    return float(numpy.quantile(values, share))


@dataclass(frozen=True)
class Spread:
    """What was measured again and again: how often, how it is distributed, and every sample.

    None is what so few samples do not tell.
    """

    n: int
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None
    samples: Sequence[float]

    def __str__(self) -> str:
        if not self.n:
            return "-"
        return " / ".join(map(_short, (self.p50, self.p99, self.max))) + f" ({self.n})"


def _short(value: float | None) -> str:
    """Three digits, or more before the point."""
    if value is None:
        return "-"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def spread(samples: Sequence[float]) -> Spread:
    """The distribution of some samples, or of none."""
    if not samples:
        return Spread(0, None, None, None, None, ())
    p50, p90, p99 = (quantile(samples, share) for share in (0.5, 0.9, 0.99))
    return Spread(len(samples), p50, p90, p99 if len(samples) >= MANY else None, max(samples), tuple(samples))


def slope(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """What y grows by for each x: the line with the least squares. None if all x are the same."""
    return float(numpy.polyfit(xs, ys, 1)[0]) if len(set(xs)) > 1 else None
