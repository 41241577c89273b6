"""The pace of reports on one object: some at once, and where they go on and on, one a second.

A node that comes and goes changes many times a second why a gang waits, and nobody can read that.  What is put off
is not a write but the report itself: it is made from how things stand when its time has come, so whatever was
superseded meanwhile is never written, and the last state always is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from podium.kube.buckets import Buckets

AT_ONCE = 10  # reports on one object that may follow each other without a pause
GAP = 1.0  # between two of them from then on

# Makes a report as of a moment: whether anything was written.
Report = Callable[[float], bool]


class Pace:
    """Reports by what they are about, and those that are put off: they are made together."""

    def __init__(self) -> None:
        self._buckets = Buckets[Hashable](AT_ONCE, GAP)
        self._put_off: dict[Hashable, Report] = {}
        self._due = 0.0

    def report(self, about: Hashable, report: Report, now: float, *, urgent: bool = False) -> None:
        """Makes a report, now or a little later, in place of an earlier one that was put off."""
        if urgent or self._buckets.has(about, now):
            self._put_off.pop(about, None)
            self._make(about, report, now)
            return
        if not self._put_off:
            self._due = now + GAP
        self._put_off[about] = report

    def drop(self, about: Hashable) -> None:
        """What was to be reported is no longer true, or has been reported."""
        self._put_off.pop(about, None)

    def catch_up(self, now: float) -> None:
        """Makes what was put off, when its time has come."""
        if self._put_off and now >= self._due:
            put_off, self._put_off = self._put_off, {}
            for about, report in put_off.items():
                self._make(about, report, now)

    @property
    def next_wake(self) -> float | None:
        return self._due if self._put_off else None

    def _make(self, about: Hashable, report: Report, now: float) -> None:
        if report(now):
            self._buckets.take(about, now)
