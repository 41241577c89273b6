"""Queues with their gangs in line: who is served next."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from podium.core.actions.portions import PORTION
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Queue


class GangQueue:
    """Gangs by queue, or by namespace and queue.

    Shares move with every placement, and with them the order of namespaces and of queues.  Where all plugins give
    queues keys, a queue takes another place when something of its own was placed or lost its place; else all
    queues are compared anew each time.
    """

    def __init__(self, session: Session, *, by_namespace: bool = False) -> None:
        self._session = session
        self._key = session.job_key
        self._queue_key = session.queue_key
        self._by_namespace = by_namespace
        self._turn = ""  # the namespace whose turn it is; without an order of namespaces there is one for all
        self._heaps: dict[str, dict[str, list[Any]]] = {}
        self._waiting: Counter[str] = Counter()  # gangs by namespace
        # By namespace keys with their queues.  An entry holds as long as its key is the queue's own and the queue
        # has gangs; others are left behind, and dropped when they come up.
        self._orders: dict[str, list[Any]] = {}
        self._keys: dict[str, Any] = {}
        self._read = 0

    def filling(self, gangs: Iterable[Gang]) -> Iterator[None]:
        """Takes the gangs in, some at a time: each needs its key, which plugins make."""
        for number, gang in enumerate(gangs, 1):
            self._heap(gang).append(self._entry(gang))
            self._waiting[self._home(gang)] += 1
            if number % PORTION == 0:
                yield
        for queues in self._heaps.values():
            for heap in queues.values():
                heapq.heapify(heap)
        self._read = len(self._session.moves)
        if self._queue_key is not None:
            for namespace, queues in self._heaps.items():
                order = self._orders[namespace] = []
                for number, id in enumerate(queues, 1):
                    order.append((self._key_of(id), id))
                    if number % PORTION == 0:
                        yield
                heapq.heapify(order)

    def _entry(self, gang: Gang) -> tuple[Any, str, Gang]:
        return self._key(gang), gang.id, gang

    def _home(self, gang: Gang) -> str:
        return gang.namespace if self._by_namespace else ""

    def _heap(self, gang: Gang) -> list[Any]:
        return self._heaps.setdefault(self._home(gang), {}).setdefault(gang.queue, [])

    def next_queue(self) -> Queue | None:
        """The queue to serve next, among those with gangs in line."""
        namespaces = [name for name, count in self._waiting.items() if count]
        if not namespaces:
            return None
        self._turn = self._session.first_namespace(namespaces) if len(namespaces) > 1 else namespaces[0]
        heaps = self._heaps[self._turn]
        if len(heaps) == 1:
            return self._session.queues[next(iter(heaps))]  # with gangs in line, or it would be nobody's turn
        if self._queue_key is None:
            return self._session.first_queue([self._session.queues[id] for id, heap in heaps.items() if heap])
        self._catch_up()
        order = self._orders[self._turn]
        while order[0][0] is not self._keys.get(order[0][1]) or not heaps.get(order[0][1]):
            heapq.heappop(order)
        return self._session.queues[order[0][1]]

    def _key_of(self, id: str) -> Any:
        found = self._keys.get(id)
        if found is None:
            assert self._queue_key is not None
            found = self._keys[id] = self._queue_key(self._session.queues[id])
        return found

    def _catch_up(self) -> None:
        """Gives queues new keys of which something has been placed since, or lost its place."""
        moves = self._session.moves
        if self._read == len(moves):
            return
        moved = dict.fromkeys(moves[self._read :])
        self._read = len(moves)
        for id in moved:
            if self._keys.pop(id, None) is not None:
                for namespace, queues in self._heaps.items():
                    if queues.get(id):
                        heapq.heappush(self._orders[namespace], (self._key_of(id), id))

    def drop_queue(self, queue: Queue) -> list[Gang]:
        """Serves a queue no longer; returns who was in line."""
        dropped = []
        for namespace, queues in self._heaps.items():
            gangs = [entry[2] for entry in queues.pop(queue.id, [])]
            self._waiting[namespace] -= len(gangs)
            dropped += gangs
        return dropped

    def pop(self, queue: Queue) -> Gang:
        """The next gang of the queue whose turn it is."""
        gang: Gang = heapq.heappop(self._heaps[self._turn][queue.id])[2]
        self._waiting[self._turn] -= 1
        return gang

    def push(self, gang: Gang) -> None:
        home = self._home(gang)
        heapq.heappush(self._heap(gang), self._entry(gang))
        self._waiting[home] += 1
        if self._queue_key is not None:
            heapq.heappush(self._orders.setdefault(home, []), (self._key_of(gang.queue), gang.queue))
