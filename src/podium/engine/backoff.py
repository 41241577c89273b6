"""Gangs that are left alone for a while: after a refusal or a doubt, longer each time.

A server that fails fails many binds of a gang at once.  That is one failure of the plan they belong to, not one of
every member.  A gang that holds a part of its places is not left alone for long: what it holds is of no use to it
before it has the rest, nor to anybody else.

A pod that joins a group takes its rest along, and what the server asked for is kept.  The same timers wake up
gangs that wait for nothing but time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Set

from podium.kube.backoff import pause

FIRST_BACKOFF = 1.0
MAX_BACKOFF = 60.0
MAX_BACKOFF_HALF_BOUND = 4.0  # of a gang that holds a part of its places


class Backoff:
    """Who rests until when, by gang."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}  # plans that failed in a row
        self._failed: dict[str, str] = {}  # the last of them
        self._until: dict[str, float] = {}
        self._looks: dict[str, float] = {}  # when gangs have asked to be looked at again
        self._timers: list[tuple[float, str]] = []

    def __bool__(self) -> bool:
        return bool(self._until)

    @property
    def gangs(self) -> Set[str]:
        """Those that rest now."""
        return self._until.keys()

    def leave_alone(
        self, gang: str, now: float, at_least: float = 0.0, *, plan: str = "", half_bound: bool = False
    ) -> None:
        """Something failed: for longer than the last time, and for as long as the server asked for.

        What fails of one plan counts once.
        """
        count = self._failures.get(gang, 0)
        if plan and self._failed.get(gang) == plan:
            count -= 1
        else:
            self._failed[gang] = plan
            self._failures[gang] = count + 1
        most = MAX_BACKOFF_HALF_BOUND if half_bound else MAX_BACKOFF
        self._back_off(gang, now + max(min(most, pause(count, FIRST_BACKOFF, MAX_BACKOFF)), at_least))

    def succeeded(self, gang: str) -> None:
        if self._failures.pop(gang, None) is not None:
            del self._failed[gang]

    def follow(self, left: str, joined: str) -> None:
        """A member of the one is a member of the other now."""
        if left in self._until and left != joined:
            self._back_off(joined, self._until[left])

    def wake(self, gang: str, at: float) -> None:
        """A gang is to be looked at then, whether it rests or not."""
        heapq.heappush(self._timers, (at, gang))

    def look_again(self, gang: str, at: float) -> None:
        """The same for a gang that says so in every turn: it is noted once."""
        if self._looks.get(gang) != at:
            self._looks[gang] = at
            self.wake(gang, at)

    def due(self, now: float) -> Iterator[str]:
        """The gangs whose time has come."""
        while self._timers and self._timers[0][0] <= now:
            until, gang = heapq.heappop(self._timers)
            if self._until.get(gang) == until:
                del self._until[gang]
            if self._looks.get(gang) == until:
                del self._looks[gang]
            yield gang

    @property
    def next_wake(self) -> float | None:
        return self._timers[0][0] if self._timers else None

    def _back_off(self, gang: str, until: float) -> None:
        """Several members may have failed: the longest rest counts."""
        if until > self._until.get(gang, 0.0):
            self._until[gang] = until
            self.wake(gang, until)
