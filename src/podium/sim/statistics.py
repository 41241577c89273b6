"""The figures of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np


class Spread(msgspec.Struct, frozen=True):
    """How some times are spread, in seconds; None where there are none."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


def spread(values: Sequence[float]) -> Spread:
    """Percentiles are values that occur: the smallest that so many of all do not exceed."""
    if not len(values):
        return Spread()
    array = np.asarray(values, dtype=np.float64)
    p50, p95, p99 = np.percentile(array, (50, 95, 99), method="inverted_cdf")
    return Spread(*(round(float(each), 3) for each in (array.mean(), p50, p95, p99, array.max())))


def evenness(amounts: Iterable[float]) -> float:
    """Jain's index: 1 when all have the same, 1/n when one of n has everything."""
    values = [amount for amount in amounts if amount >= 0]
    squares = sum(value * value for value in values)
    return round(sum(values) ** 2 / (len(values) * squares), 4) if squares else 1.0
