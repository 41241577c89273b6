"""Round numbers for axes, and words for numbers."""

from __future__ import annotations

import math
from itertools import pairwise

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_STEPS = (
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(_MINUTE * each for each in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * each for each in (1, 2, 3, 6, 12)),
    *(_DAY * each for each in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1.0, "s"))


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from `low` to `high`, at most so many: 1, 2 or 5 times a power of ten apart."""
    if high <= low:
        return [low]
    raw = (high - low) / max(1, most - 1)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, int(high / step + 1e-9) + 1)]


def time_ticks(high: float, most: int = 6) -> list[tuple[float, str]]:
    """Times from 0 to `high` seconds with their words, at most so many, as clocks and calendars divide them."""
    least = high / max(1, most - 1) * (1 - 1e-9)
    step = next((each for each in _STEPS if each >= least), 0.0)
    if not step:
        step = _DAY * ceiling(least / _DAY)
    size, unit = next(each for each in _UNITS if step >= each[0] or each[0] == 1.0)
    times = [step * place for place in range(int(high / step + 1e-9) + 1)]
    return [(seconds, f"{number(seconds / size)} {unit}" if seconds else "0") for seconds in times]


def ceiling(value: float) -> float:
    """A round number that is not less, for the end of an axis."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * factor >= value * (1 - 1e-9))


def number(value: float) -> str:
    """A number with as many places as it needs, two at most."""
    if abs(value - round(value)) < 1e-9:
        return f"{round(value):,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """A time in its two largest units: 2 d 4 h, 12 min 30 s, 1.5 s."""
    if seconds < _MINUTE:
        return f"{number(round(seconds, 2 if seconds < 10 else 1))} s"
    for (size, unit), (smaller, beside) in pairwise(_UNITS):
        whole, rest = divmod(round(seconds / smaller), round(size / smaller))
        if whole:
            return f"{whole:,} {unit}" + (f" {rest} {beside}" if rest else "")
    raise AssertionError("a minute is more than a second")
