"""Queues with their gangs in line: who is served next."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from podium.core.model import Gang, Queue
from podium.core.session import Session


class Line:
    """Gangs by queue, or by namespace and queue.

    The order of namespaces and of queues is looked at anew each time: shares move with every placement.
    """

    def __init__(self, session: Session, gangs: Iterable[Gang], *, by_namespace: bool = False) -> None:
        self._session = session
        self._key = session.job_key
        self._by_namespace = by_namespace
        self._turn = ""  # the namespace whose turn it is; without an order of namespaces there is one for all
        self._heaps: dict[str, dict[str, list[Any]]] = {}
        for gang in gangs:
            self._heap(gang).append(self._entry(gang))
        for queues in self._heaps.values():
            for heap in queues.values():
                heapq.heapify(heap)

    def _entry(self, gang: Gang) -> tuple[Any, str, Gang]:
        return self._key(gang), gang.id, gang

    def _heap(self, gang: Gang) -> list[Any]:
        namespace = gang.namespace if self._by_namespace else ""
        return self._heaps.setdefault(namespace, {}).setdefault(gang.queue, [])

    def next_queue(self) -> Queue | None:
        """The queue to serve next, among those with gangs in line."""
        namespaces = [name for name, queues in self._heaps.items() if any(queues.values())]
        if not namespaces:
            return None
        self._turn = self._session.first_namespace(namespaces) if len(namespaces) > 1 else namespaces[0]
        waiting = [self._session.queues[id] for id, heap in self._heaps[self._turn].items() if heap]
        return self._session.first_queue(waiting)

    def drop_queue(self, queue: Queue) -> list[Gang]:
        """Serves a queue no longer; returns who was in line."""
        return [entry[2] for queues in self._heaps.values() for entry in queues.pop(queue.id, [])]

    def pop(self, queue: Queue) -> Gang:
        """The next gang of the queue whose turn it is."""
        gang: Gang = heapq.heappop(self._heaps[self._turn][queue.id])[2]
        return gang

    def push(self, gang: Gang) -> None:
        heapq.heappush(self._heap(gang), self._entry(gang))
