"""Durations as people write them."""

from __future__ import annotations

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)", re.ASCII)
# A text without an end would be looked through once from each of its digits.
_LONGEST = 128
_MOST = 2.0**63 / 1e9  # s; what Go can count in nanoseconds


def duration(text: str, *, zero: bool = False) -> float | None:
    """Seconds of a duration such as 1h15m; None for none, or for text that is no positive duration.

    `zero`: no time at all is one, too, with a unit or without.
    """
    text = text.strip()
    if zero and text == "0":
        return 0.0
    parts = _PART.findall(text) if len(text) <= _LONGEST else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return seconds if (seconds > 0 or zero) and seconds < _MOST else None
