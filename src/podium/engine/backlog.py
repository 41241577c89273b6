"""Gangs of queues that own nodes are looked at in portions, so that queues do not feel each other.

A turn sees one state of the world from end to end, so whoever comes meanwhile waits for its end.  With ten
thousand gangs in one queue, each of its own kind, that is seconds.  So of each queue only the first in line are
asked in a turn, and the others in the turns that follow; another queue's gang is asked beside the next portion.

This holds for profiles that keep to the owners of nodes: their queues have nothing to share but what one lends to
another, and who is asked later cannot lose its place in line to somebody of its own queue.

Whoever was refused before and would not fit anywhere within reach, were all gone that it may push out, is not
asked at all.  That is seen for all gangs of a queue at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Set

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.accounts import Accounts
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.ownership import Mask, Ownership
from podium.core.model.model import HOLDING, Gang, Queue
from podium.core.profiles.profile import Profile

PORTION = 16  # gangs of one queue in one turn

Amounts = NDArray[np.int64]
Order = tuple[float, float, str]
_NO_QUEUE = Queue("")


class Backlog:
    """The gangs that are yet to be asked, by queue."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.keepers: dict[str, bool] = {}  # profiles that keep to owners, and whether they push others out
        self.ids: set[str] = set()
        self._lines: dict[str, list[tuple[Order, str]]] = {}  # heaps; who is no longer in `ids` is passed over
        self._kinds: dict[str, _Kinds] = {}

    def serve(self, profiles: Mapping[str, Profile]) -> None:
        self.keepers = {
            name: not profile.peaceful
            for name, profile in profiles.items()
            if profile.plain_order and any(each.kind.KEEPS_TO_OWNERS for tier in profile.tiers for each in tier)
        }

    def __bool__(self) -> bool:
        return bool(self.ids)

    def put(self, gangs: Iterable[Gang]) -> None:
        """These are to be asked."""
        for gang in gangs:
            if gang.id not in self.ids:
                self.ids.add(gang.id)
                heapq.heappush(self._lines.setdefault(gang.queue, []), (_order(gang), gang.id))

    def hopeless(self, refused: Set[str]) -> set[str]:
        """The gangs that were refused before and that nothing can help as things stand: they need not be put."""
        reach, found = _Reach(self._cluster), set[str]()
        for queue in self._followed():
            found |= self._hopeless(queue, refused, reach)
        return found

    def take(self, refused: Set[str]) -> set[str]:
        """Whom the next turn asks.  What was taken meanwhile may have left nothing for those further back."""
        found: set[str] = set()
        reach: _Reach | None = None
        for queue, line in list(self._lines.items()):
            if len(line) > PORTION:
                reach = reach or _Reach(self._cluster)
                self.ids -= self._hopeless(queue, refused, reach)
            taken = 0
            while line and taken < PORTION:
                _, id = heapq.heappop(line)
                if id in self.ids:
                    self.ids.discard(id)
                    found.add(id)
                    taken += 1
            if not line:
                del self._lines[queue]
        return found

    def _followed(self) -> list[str]:
        """The queues of gangs that are looked at in portions, with more of them than one portion."""
        demands = self._cluster.accounts.demands
        return [
            queue
            for queue, by_gang in demands.items()
            if len(by_gang) > PORTION and next(iter(by_gang.values())).profile in self.keepers
        ]

    def _hopeless(self, queue: str, refused: Set[str], reach: _Reach) -> set[str]:
        accounts = self._cluster.accounts
        known = self._kinds.get(queue)
        if known is None or known.accounts is not accounts:
            known = self._kinds[queue] = _Kinds(accounts, queue)
        known.follow(self._cluster.dimensions.width)
        room = reach.room(queue, known.priority if any(self.keepers.values()) else None)
        return known.without(room) & refused


class _Kinds:
    """What the gangs of a queue ask for: a row for each, of those that ask for one class of tasks."""

    def __init__(self, accounts: Accounts, queue: str) -> None:
        self.accounts = accounts
        self.priority = 0  # the highest of those that wait, or did
        self._queue = queue
        self._rows: dict[str, int] = {}
        self._ids: list[str] = []  # "" in a row that is free
        self._free: list[int] = []
        self._asked: Amounts = np.zeros((64, 8), dtype=np.int64)
        accounts.changed_demands[queue] = set(accounts.demands.get(queue, ()))

    def follow(self, width: int) -> None:
        """Takes in what has changed."""
        if self._asked.shape[1] < width:
            self._asked = np.pad(self._asked, ((0, 0), (0, width - self._asked.shape[1])))
        changed, self.accounts.changed_demands[self._queue] = self.accounts.changed_demands[self._queue], set()
        demands = self.accounts.demands.get(self._queue, {})
        for id in changed:
            row, demand = self._rows.get(id), demands.get(id)
            if demand is None:
                if row is not None:
                    del self._rows[id]
                    self._ids[row] = ""
                    self._free.append(row)
                continue
            if row is None:
                row = self._rows[id] = self._new_row(id)
            self._asked[row] = 0
            for column, amount in demand.cls.request.pairs:
                self._asked[row, column] = amount
            gang = self.accounts.active.get(id)
            if gang is not None:
                self.priority = max(self.priority, *(task.priority for task in gang.tasks.values()), gang.priority)

    def _new_row(self, id: str) -> int:
        if self._free:
            row = self._free.pop()
            self._ids[row] = id
            return row
        self._ids.append(id)
        if len(self._ids) > len(self._asked):
            self._asked = np.concatenate([self._asked, np.zeros_like(self._asked)])
        return len(self._ids) - 1

    def without(self, room: Iterable[Amounts]) -> set[str]:
        """The gangs for a task of which none of these rooms is large enough."""
        asked = self._asked[: len(self._ids)]
        found: Mask = np.zeros(len(asked), dtype=bool)
        for each in room:
            found |= np.all(asked[:, : len(each)] <= each[: asked.shape[1]], axis=1)
        fitting = {self._ids[row] for row in np.flatnonzero(found).tolist()}
        return self._rows.keys() - fitting


class _Reach:
    """The most that a gang of a queue could find, at the beginning of a turn."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        nodes = cluster.nodes
        nodes.widen()
        self._idle = nodes.future_idle()
        self._live = nodes.live[: nodes.count]
        self._ownership = Ownership(cluster.queues, nodes.properties)

    def room(self, queue: str, priority: int | None) -> list[Amounts]:
        """The largest amounts of each resource on the nodes of a queue, and on those that others lend to it.

        With a priority, what tasks hold counts that leave for a gang of that priority.
        """
        home = self._ownership.home(queue) & self._live
        known = self._cluster.queues.get(queue, _NO_QUEUE)
        room = self._idle
        if priority is not None and known.preempts:
            room = room + self._evictable(home, priority)
        found = [room[home].max(axis=0)] if home.any() else []
        for lender in self._ownership.lenders(known):
            rows = self._ownership.owned(lender.id) & self._live
            if rows.any():
                found.append(self._idle[rows].max(axis=0))
        return found

    def _evictable(self, home: Mask, priority: int) -> Amounts:
        gains = np.zeros_like(self._idle)
        for row in np.flatnonzero(home).tolist():
            for task in self._cluster.on_row.get(row, {}).values():
                if task.state in HOLDING and (task.priority < priority or self._ownership.borrows(task)):
                    for column, amount in task.cls.request.pairs:
                        gains[row, column] += amount
        return gains


def _order(gang: Gang) -> Order:
    return -gang.priority, gang.created, gang.id
