"""Queues with their gangs in line: who is served next."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from podium.core.model import Gang, Queue
from podium.core.session import Session


class Line:
    """Gangs by queue.  The order of queues is looked at anew each time: shares move with every placement."""

    def __init__(self, session: Session, gangs: Iterable[Gang]) -> None:
        self._session = session
        self._key = session.job_key
        self._heaps: dict[str, list[Any]] = {}
        for gang in gangs:
            self._heaps.setdefault(gang.queue, []).append(self._entry(gang))
        for heap in self._heaps.values():
            heapq.heapify(heap)

    def _entry(self, gang: Gang) -> tuple[Any, str, Gang]:
        return self._key(gang), gang.id, gang

    def next_queue(self) -> Queue | None:
        """The queue to serve next, among those with gangs in line."""
        waiting = [self._session.queues[id] for id, heap in self._heaps.items() if heap]
        return self._session.first_queue(waiting) if waiting else None

    def drop_queue(self, queue: Queue) -> list[Gang]:
        """Serves a queue no longer; returns who was in line."""
        return [entry[2] for entry in self._heaps.pop(queue.id, [])]

    def pop(self, queue: Queue) -> Gang:
        gang: Gang = heapq.heappop(self._heaps[queue.id])[2]
        return gang

    def push(self, gang: Gang) -> None:
        heapq.heappush(self._heaps.setdefault(gang.queue, []), self._entry(gang))
