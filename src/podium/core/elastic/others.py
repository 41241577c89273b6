"""Pods of others that wait: room is kept free for them, and units give way where there is none.

Only pods that stand alone count, such as those of a service: whole gangs of other schedulers take what is free
when their turn comes.  What its own queue does not let in, or what no node could ever take, keeps nobody's room.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.elastic.room import SessionRoom
from podium.core.framework.session import Session
from podium.core.model.model import Gang, State, Task

_MOST = 2000  # pods, in one plan


class Others:
    """What waits beside the units."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.asking: list[Task] = []  # all that could have room, whether there is any now or not

    def place(self, room: SessionRoom) -> list[Task]:
        """Keeps room free for those that fit; gives those that do not and could, the most important first."""
        left, missing = _MOST, []
        for tasks in self._kinds():
            some = tasks[:left]
            left -= len(some)
            unplaced = room.later.keep_free(some)
            self.asking += some[: len(some) - len(unplaced)]
            missing += unplaced
            if left <= 0:
                break
        missing.sort(key=lambda task: (-task.priority, task.created, task.name))
        unmet = [task for task in missing if room.could_ever_fit([task])]
        self.asking += unmet
        room.later.expect(self.asking)
        return unmet

    def _kinds(self) -> Iterator[list[Task]]:
        """Equal tasks, by what they ask for."""
        for demand, gangs in self._session.cluster.accounts.equal_demand.items():
            if demand.need == 1 and not demand.cls.best_effort:
                tasks = [task for gang in gangs.values() if self._counts(gang) for task in _waiting(gang)]
                if tasks:
                    yield tasks[: self._allowed(demand.queue, tasks[0], len(tasks))]

    def _counts(self, gang: Gang) -> bool:
        return gang.size is None and not gang.together and gang.minimum <= 1

    def _allowed(self, queue: str, task: Task, count: int) -> int:
        """How many of them their queue's own limit lets in."""
        found = self._session.queues.get(queue)
        if found is None:
            return 0
        account = self._session.cluster.accounts.queues.get(queue)
        for name, limit in found.capability.items():
            column = self._session.cluster.dimensions.find(name)
            amount = task.cls.request.amount(column) if column is not None else 0
            if column is not None and amount:
                held = account.allocated.get(column, 0) if account is not None else 0
                count = min(count, max(0, (limit - held) // amount))
        return count


def _waiting(gang: Gang) -> Iterator[Task]:
    return (task for task in gang.tasks.values() if task.state is State.PENDING and not task.gated)
