"""The figures of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np


class Spread(msgspec.Struct, frozen=True):
    """How some times are spread, in seconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


def spread(values: Sequence[float]) -> Spread:
    """Percentiles are values that occur: the smallest that so many of all do not exceed."""
    if not len(values):
        return Spread(0.0, 0.0, 0.0, 0.0, 0.0)
    array = np.asarray(values, dtype=np.float64)
    p50, p95, p99 = np.percentile(array, (50, 95, 99), method="inverted_cdf")
    return Spread(*(round(float(each), 3) for each in (array.mean(), p50, p95, p99, array.max())))


def evenness(amounts: Iterable[float]) -> float:
    """Jain's index: 1 when all have the same, 1/n when one of n has everything."""
    values = [amount for amount in amounts if amount >= 0]
    squares = sum(value * value for value in values)
    return round(sum(values) ** 2 / (len(values) * squares), 4) if squares else 1.0


class Curve:
    """A number that changes at certain times."""

    def __init__(self) -> None:
        self._times: list[float] = [0.0]
        self._values: list[float] = [0.0]
        self._integral = 0.0

    @property
    def value(self) -> float:
        return self._values[-1]

    def add(self, time: float, change: float) -> None:
        self._integral += self._values[-1] * (time - self._times[-1])
        value = self._values[-1] + change
        if time == self._times[-1]:
            self._values[-1] = value
        else:
            self._times.append(time)
            self._values.append(value)

    def integral(self, until: float) -> float:
        return self._integral + self._values[-1] * (until - self._times[-1])

    def sampled(self, times: Sequence[float]) -> list[float]:
        """The values at rising times."""
        places = np.searchsorted(np.asarray(self._times), np.asarray(times), side="right") - 1
        return [self._values[place] for place in places.tolist()]
