"""Sets of completion indexes in the form in which a Job's status keeps them: `1,3-5,7`.

A Job of 100,000 completions whose first half is done is one interval, so the work of a reconcile grows with the
gaps and not with the completions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from podium.kube.numbers import whole_number

Interval = tuple[int, int]


class Indexes:
    """An immutable ordered set of integers as intervals, both ends included."""

    __slots__ = ("intervals",)

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        merged: list[Interval] = []
        for first, last in sorted(intervals):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self.intervals = merged

    @classmethod
    def of(cls, indexes: Iterable[int]) -> Indexes:
        return cls((index, index) for index in indexes)

    @classmethod
    def parse(cls, text: str | None, limit: int) -> Indexes:
        """Reads a status; what lies beyond `limit` (completions may have shrunk) or is no number is left out."""
        found: list[Interval] = []
        for part in (text or "").split(","):
            start, dash, end = part.partition("-")
            first, last = whole_number(start), whole_number(end if dash else start)
            if first is None or last is None:
                continue
            last = min(last, limit - 1)
            if first <= last:
                found.append((first, last))
        return cls(found)

    def __contains__(self, index: int) -> bool:
        at = bisect_left(self.intervals, (index + 1, 0)) - 1
        return at >= 0 and self.intervals[at][0] <= index <= self.intervals[at][1]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __or__(self, other: Indexes) -> Indexes:
        return Indexes([*self.intervals, *other.intervals])

    def overlap(self, other: Indexes) -> int:
        """How many indexes both have."""
        shared = at = 0
        for first, last in self.intervals:
            while at < len(other.intervals) and other.intervals[at][1] < first:
                at += 1
            probe = at
            while probe < len(other.intervals) and other.intervals[probe][0] <= last:
                shared += min(last, other.intervals[probe][1]) - max(first, other.intervals[probe][0]) + 1
                probe += 1
        return shared

    def missing(self, limit: int, at_most: int) -> list[int]:
        """The first indexes below `limit` that are not in the set."""
        found: list[int] = []
        candidate = 0
        for first, last in [*self.intervals, (limit, limit)]:
            stop = min(first, limit, candidate + at_most - len(found))
            found.extend(range(candidate, stop))
            if len(found) >= at_most:
                break
            candidate = max(candidate, last + 1)
        return found

    def __str__(self) -> str:
        return ",".join(_interval(first, last) for first, last in self.intervals)


def _interval(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
