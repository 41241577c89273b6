"""A clock for machines that keep timers: the time of day, but it never goes back.

Machines compare `now` with times that stand on objects, so it has to be the time of day; and with their own
timers, so it must not be put back: a scheduler whose clock is set back by an hour would wait an hour for what was
due in a second.  A time of day that is ahead is believed at once; that is what a machine sees which has been
asleep.  Where it is behind, this clock goes on at half speed until it has been caught up with.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_SLOW = 0.5  # of its speed, while the time of day is behind


class SteadyClock:
    """Call it for the time."""

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """`wall` is the time of day, which may be put anywhere; `steady` only goes forward."""
        self._wall = wall
        self._steady = steady
        self._now = wall()
        self._seen = steady()

    def __call__(self) -> float:
        wall, steady = self._wall(), self._steady()
        passed, self._seen = max(0.0, steady - self._seen), steady
        if wall >= self._now + passed:
            self._now = wall
        else:
            self._now = max(wall, self._now + passed * _SLOW)
        return self._now
