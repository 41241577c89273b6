"""Gangs that are left alone for a while: after a refusal or a doubt, longer each time.

A pod that joins a group takes its rest along, and what the server asked for is kept.  The same timers wake up
gangs that wait for nothing but time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Set

FIRST_REST = 1.0
LAST_REST = 60.0


def rest(failures: int) -> float:
    """How long to leave a gang alone after a refusal or a doubt."""
    return float(min(LAST_REST, FIRST_REST * 2 ** min(failures, 16)))


class Rests:
    """Who rests until when, by gang."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}
        self._timers: list[tuple[float, str]] = []

    def __bool__(self) -> bool:
        return bool(self._until)

    @property
    def gangs(self) -> Set[str]:
        """Those that rest now."""
        return self._until.keys()

    def leave_alone(self, gang: str, now: float, at_least: float = 0.0) -> None:
        """Something failed: for longer than the last time, and for as long as the server asked for."""
        count = self._failures.get(gang, 0)
        self._failures[gang] = count + 1
        self._rest(gang, now + max(rest(count), at_least))

    def succeeded(self, gang: str) -> None:
        self._failures.pop(gang, None)

    def follow(self, left: str, joined: str) -> None:
        """A member of the one is a member of the other now."""
        if left in self._until and left != joined:
            self._rest(joined, self._until[left])

    def wake(self, gang: str, at: float) -> None:
        """A gang is to be looked at then, whether it rests or not."""
        heapq.heappush(self._timers, (at, gang))

    def due(self, now: float) -> Iterator[str]:
        """The gangs whose time has come."""
        while self._timers and self._timers[0][0] <= now:
            until, gang = heapq.heappop(self._timers)
            if self._until.get(gang) == until:
                del self._until[gang]
            yield gang

    @property
    def next_wake(self) -> float | None:
        return self._timers[0][0] if self._timers else None

    def _rest(self, gang: str, until: float) -> None:
        """Several members may have failed: the longest rest counts."""
        if until > self._until.get(gang, 0.0):
            self._until[gang] = until
            self.wake(gang, until)
