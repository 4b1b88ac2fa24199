"""Numbers about numbers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all lie, 0 to 1; between two values it is interpolated."""
    return float(numpy.quantile(values, share))


def summary(values: Sequence[float]) -> dict[str, float]:
    """How often, the median, the 99th percentile and the largest."""
    return {
        "n": len(values),
        "p50": quantile(values, 0.5),
        "p99": quantile(values, 0.99),
        "max": max(values),
    }


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """What y grows by for each x: the line with the least squares."""
    return float(numpy.polyfit(xs, ys, 1)[0])
