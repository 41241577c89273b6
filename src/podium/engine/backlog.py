"""Gangs of queues that own nodes are looked at in portions, so that queues do not feel each other.

A turn sees one state of the world from end to end, so whoever comes meanwhile waits for its end.  With ten
thousand gangs in one queue, each of its own kind, that is seconds.  So of each queue only the first in line are
asked in a turn, and the others in the turns that follow; another queue's gang is asked beside the next portion.

This holds for profiles that keep to the owners of nodes: their queues have nothing to share but what one lends to
another, and who is asked later cannot lose its place in line to somebody of its own queue.

Whoever was refused before and would not fit anywhere within reach, were all gone that it may push out, is not
asked at all.  The gangs of a queue are rows of a table (`line.py`), so that this is seen for all of them at once,
and waking up ten thousand of them costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial

import numpy as np

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.ownership import Mask, Ownership
from podium.core.model.model import HOLDING, Gang, Queue
from podium.core.profiles.profile import Profile
from podium.engine.line import Amounts, Line

PORTION = 16  # gangs of one queue in one turn

_NO_QUEUE = Queue("")


class Backlog:
    """The gangs that are yet to be asked, by queue."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._keepers: dict[str, bool] = {}  # profiles that keep to owners, and whether they push others out
        self._lines: dict[str, Line] = {}
        self._due: dict[str, None] = {}  # queues with somebody to be asked, in the order in which they came up

    def serve(self, profiles: Mapping[str, Profile]) -> None:
        """With other profiles all is forgotten: whoever waits is to be put anew."""
        self._keepers = {
            name: not profile.peaceful
            for name, profile in profiles.items()
            if profile.plain_order and any(each.kind.KEEPS_TO_OWNERS for tier in profile.tiers for each in tier)
        }
        self._lines, self._due = {}, {}

    def __bool__(self) -> bool:
        return bool(self._due)

    @property
    def used(self) -> bool:
        """Whether anybody is looked at in portions."""
        return bool(self._keepers)

    def keeps(self, gang: Gang) -> bool:
        """Whether a gang is looked at in portions.  Those that start together with others are not."""
        return gang.profile in self._keepers and not gang.together

    def put(self, gang: Gang) -> None:
        """It is to be asked, whatever the room."""
        self._line(gang.queue).put(gang)
        self._due[gang.queue] = None

    def wake(self, queue: str, refused: Set[str]) -> Set[str]:
        """Some gangs of a queue may find a place now; returns those of them that are not looked at in portions."""
        line = self._lines.get(queue)
        if line is None:
            return refused
        self._follow(line)
        if line.wake(refused):
            self._due[queue] = None
        return refused if not line.rows else refused - line.rows.keys()

    def take(self) -> set[str]:
        """Whom the next turn asks.  What was taken meanwhile may have left nothing for those further back."""
        found: set[str] = set()
        reach: _Reach | None = None
        for queue in list(self._due):
            line = self._line(queue)
            self._follow(line)
            if line.woken > PORTION:
                reach = reach or _Reach(self._cluster, pushing=any(self._keepers.values()))
                line.leave_out(partial(reach.room, queue))
            found.update(line.take(PORTION))
            if not line.waiting:
                del self._due[queue]
        return found

    def _line(self, queue: str) -> Line:
        found = self._lines.get(queue)
        if found is None or found.accounts is not self._cluster.accounts:
            found = self._lines[queue] = Line(self._cluster.accounts, queue)
        return found

    def _follow(self, line: Line) -> None:
        line.follow(self._cluster.dimensions.width, self.keeps)


class _Reach:
    """The most that a gang of a queue could find, at the beginning of a turn."""

    def __init__(self, cluster: Cluster, *, pushing: bool) -> None:
        """`pushing`: gangs may push others out."""
        self._cluster = cluster
        self._pushing = pushing
        nodes = cluster.nodes
        nodes.widen()
        self._idle = nodes.future_idle()
        self._live = nodes.live[: nodes.count]
        self._ownership = Ownership(cluster.queues, nodes.properties)

    def room(self, queue: str, priority: int) -> list[Amounts]:
        """The largest amounts of each resource on the nodes of a queue, and on those that others lend to it.

        What tasks hold counts that would leave for a gang of that priority.
        """
        home = self._ownership.home(queue) & self._live
        known = self._cluster.queues.get(queue, _NO_QUEUE)
        room = self._idle
        if self._pushing and known.preempts:
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
