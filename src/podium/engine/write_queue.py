"""The queue of status writes: a budget, one at a time about each object, the latest in place of earlier ones.

Binds go first, so the budget is small while they are under way.  A write whose outcome is not known is made again,
later each time: a server that is away answers quickly, and must not be asked as often as the budget allows.  And
what changes again and again is written once a second: a node that comes and goes changes many times a second why
something waits, and nobody can read that.
"""

from __future__ import annotations

import heapq
from itertools import islice

from podium.engine.retries import FIRST_PAUSE, LAST_PAUSE
from podium.kube.backoff import pause
from podium.kube.buckets import Buckets
from podium.kube.changes import Change, Create

WRITES_A_SECOND = 50.0
WHILE_BINDING = 0.1  # the part of it that is left while binds are under way
AT_ONCE = 10  # writes about one object that may follow each other
GAP = 1.0  # seconds after each of them from then on

# (resource, namespace, name): the object that is written.
About = tuple[str, str, str]


class WriteQueue:
    """Writes that wait, and those under way."""

    def __init__(self) -> None:
        self._waiting: dict[About, Change] = {}
        self._urgent: dict[About, Change] = {}  # what others wait for: a group that was let in gets its pods
        self._in_flight: dict[About, Change] = {}  # and what has been written, until the next one may go
        self._failures: dict[About, int] = {}  # how often in a row a write was lost
        self._often = Buckets[About](AT_ONCE, GAP)
        self._pauses: list[tuple[float, About]] = []
        self._budget = self._rate = WRITES_A_SECOND
        self._refilled = 0.0

    def __len__(self) -> int:
        """How many writes wait for their turn, apart from urgent ones."""
        return len(self._waiting)

    def put(self, change: Change, *, urgent: bool = False) -> None:
        about = _about(change)
        if urgent or about in self._urgent:
            self._waiting.pop(about, None)
            self._urgent[about] = change
        else:
            self._waiting[about] = change

    def withdraw(self, about: About) -> None:
        """What was to be written is no longer true."""
        self._waiting.pop(about, None)

    def take(self, now: float, *, binding: bool = False) -> list[Change]:
        """As many writes as the budget allows now."""
        while self._pauses and self._pauses[0][0] <= now:
            self._in_flight.pop(heapq.heappop(self._pauses)[1], None)
        self._rate = WRITES_A_SECOND * (WHILE_BINDING if binding else 1)
        self._budget = min(self._rate, self._budget + (now - self._refilled) * self._rate)
        self._refilled = now
        urgent = self._take(self._urgent, len(self._urgent))
        # Times are large numbers, and what is due to the moment may come out a little short of one.
        others = self._take(self._waiting, int(self._budget + 0.001))
        self._budget -= len(others)
        return urgent + others

    def _take(self, writes: dict[About, Change], count: int) -> list[Change]:
        """The first writes of a queue, but none about an object with another one under way: of two, a server
        might see the last one first."""
        if not writes or count <= 0:
            return []
        first = islice(writes, count + len(self._in_flight))
        ready = [about for about in first if about not in self._in_flight][:count]
        self._in_flight |= {about: writes[about] for about in ready}
        return [writes.pop(about) for about in ready]

    def answered(self, change: Change, now: float, *, lost: bool, at_least: float = 0.0) -> None:
        """The answer to a write: the next one about the same object may go, if there have not been many.

        One that was lost is made again, after a pause at least as long as the server asked for.
        """
        about = _about(change)
        if self._in_flight.get(about) is not change:
            return
        if not lost:
            self._failures.pop(about, None)
            self._often.take(about, now)
            if self._often.has(about, now):
                del self._in_flight[about]
            else:
                heapq.heappush(self._pauses, (now + GAP, about))
            return
        count = self._failures.get(about, 0)
        self._failures[about] = count + 1
        heapq.heappush(self._pauses, (now + max(at_least, pause(count, FIRST_PAUSE, LAST_PAUSE)), about))
        if about not in self._urgent:
            self._waiting.setdefault(about, change)

    def next_wake(self, now: float) -> float | None:
        if any(about not in self._in_flight for about in self._urgent):
            return now
        times = [self._pauses[0][0]] if self._pauses else []
        if any(about not in self._in_flight for about in self._waiting):
            times.append(self._refilled + max(0.0, 1 - self._budget) / self._rate)
        return max(now, min(times)) if times else None


def _about(change: Change) -> About:
    name = change.document["metadata"]["name"] if isinstance(change, Create) else change.name
    return change.resource.group_resource, change.namespace, name
