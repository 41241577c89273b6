"""Requests whose outcome is not known, to be made again: not at once, and later each time.

A server that is away, or that answers everything with a failure, answers quickly.  Whoever asks again at once asks
it as often as the network allows, when it can bear that least.
"""

from __future__ import annotations

import heapq

from podium.kube.backoff import pause
from podium.kube.cache import Key
from podium.kube.controller import Ticket

FIRST_PAUSE = 0.5
LAST_PAUSE = 30.0


class Retries:
    """What waits to be sent again.  A request is known by its errand and its key."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, Key], int] = {}
        self._waiting: list[tuple[float, int, Ticket]] = []
        self._number = 0

    def again(self, ticket: Ticket, now: float, at_least: float = 0.0) -> None:
        """Once more, after a pause: at least as long as the server asked for."""
        count = self._failures.get((ticket.purpose, ticket.key), 0)
        self._failures[ticket.purpose, ticket.key] = count + 1
        wait = max(at_least, pause(count, FIRST_PAUSE, LAST_PAUSE))
        self._number += 1
        heapq.heappush(self._waiting, (now + wait, self._number, ticket))

    def failures(self, ticket: Ticket) -> int:
        """How often in a row it has been sent for nothing."""
        return self._failures.get((ticket.purpose, ticket.key), 0)

    def settled(self, ticket: Ticket) -> None:
        """It has been answered, one way or the other."""
        if self._failures:
            self._failures.pop((ticket.purpose, ticket.key), None)

    def forget(self, task: str) -> None:
        """Nobody is interested in a task any more."""
        for known in [each for each in self._failures if each[1][1] == task]:
            del self._failures[known]

    def take(self, now: float) -> list[Ticket]:
        """What is due."""
        due = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(heapq.heappop(self._waiting)[2])
        return due

    @property
    def next_wake(self) -> float | None:
        return self._waiting[0][0] if self._waiting else None
