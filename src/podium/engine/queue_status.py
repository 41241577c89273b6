"""What queues hold, on their objects: counted between turns, some queues at a time.

There may be thousands of queues, of which a turn moved a few: a queue whose sums and whose object are as they were
when it was last looked at is passed over.  Queues that own nodes are counted each time, since they stand
differently when others change; and now and then all are, so that nothing stays wrong for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from podium.core.cluster.accounts import Account
from podium.dialects.queue_report import QueueReport
from podium.engine.world import World
from podium.engine.write_queue import WriteQueue
from podium.kube.wire import Object

QUEUE_SECONDS = 1.0  # between two counts
EVERY_SECONDS = 60.0  # between two counts of all
_PORTION = 100


class _Standing(NamedTuple):
    """A queue's object, and its sums: a self-check that repairs them makes all of them anew."""

    obj: Object
    account: Account | None
    changes: int


class QueueStatus:
    """Follows turns, and puts patches into the queue of writes."""

    def __init__(self, world: World, writes: WriteQueue) -> None:
        self._world = world
        self._writes = writes
        self._due = False  # whether queues may hold something else than when they were last counted
        self._counted = 0.0
        self._all_counted = float("-inf")
        self._known: dict[str, _Standing] = {}  # by queue, as it was last counted
        self._count: Iterator[None] | None = None

    def turn_ended(self) -> None:
        self._due = True

    def go_on(self, now: float) -> None:
        """Counts some queues, if it is time."""
        if self._count is None:
            if not self._due or now < self._counted + QUEUE_SECONDS:
                return
            self._counted, self._due = now, False
            self._count = self._counting(now)
        if next(self._count, self) is self:
            self._count = None

    def next_wake(self, now: float) -> float | None:
        if self._count is not None:
            return now
        return self._counted + QUEUE_SECONDS if self._due else None

    def _counting(self, now: float) -> Iterator[None]:
        world = self._world
        world.cluster.settle()
        if now >= self._all_counted + EVERY_SECONDS:
            self._all_counted = now
            self._known.clear()
        changed = [
            (resource, obj.name, kind.id(obj.name))
            for resource, kind in world.queues.items()
            for obj in world.cache.all(resource)
            if kind.ownership is not None or self._standing(kind.id(obj.name), obj) is not None
        ]
        for start in range(0, len(changed), _PORTION):
            if start:
                yield
            portion = changed[start : start + _PORTION]
            reports = world.reports.of([id for _, _, id in portion], now)
            for resource, name, id in portion:
                obj = world.cache.find(resource, Object, ("", name))
                if obj is None:
                    self._known.pop(id, None)
                    continue
                self._known[id] = self._standing(id, obj) or self._known[id]
                patch = world.queues[resource].patch(obj, reports.get(id, QueueReport()))
                if patch is not None:
                    self._writes.put(patch)

    def _standing(self, id: str, obj: Object) -> _Standing | None:
        """How a queue stands now; None if that is how it stood when it was last counted."""
        account = self._world.cluster.accounts.queues.get(id)
        changes = account.changes if account is not None else 0
        known = self._known.get(id)
        if known is not None and known.obj is obj and known.account is account and known.changes == changes:
            return None
        return _Standing(obj, account, changes)
