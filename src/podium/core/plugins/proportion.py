"""proportion: queues share the cluster by weight, each at most what it asks for and may have.

What each queue deserves is found by filling: what is left is split by weight among the queues that want more, each
takes no more than it can use, and the rest is split again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.core.model import Gang, Phase, Queue, State, Task, TaskClass
from podium.core.plugin import Placed, Plugin, Vote
from podium.core.session import Session
from podium.core.shares import Amounts, Ledger, capability_of, dominant, minimum_of, vector_of
from podium.reasons import QUEUE_CLOSED, QUEUE_LIMIT, Refusal, refuse


class Proportion(Plugin):
    name = "proportion"

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._names = session.cluster.dimensions.names
        self._ledger = Ledger(session)
        self._request = _requests(session, self._ledger)
        guarantees = {id: vector_of(session, queue.guarantee) for id, queue in session.queues.items()}
        reserved = sum(guarantees.values(), np.zeros(self._ledger.width))
        self._limits = {
            id: np.minimum(capability_of(session, queue), self._ledger.total - reserved + guarantees[id])
            for id, queue in session.queues.items()
        }
        self._deserved = _fill(session, self._ledger.total, self._limits, self._request, guarantees)
        self._admitted = _admitted(session, self._ledger)
        self._elastic = _elastic(session, self._ledger)

    def on_allocate(self, placed: Placed) -> None:
        self._ledger.add(placed, 1)

    def on_deallocate(self, placed: Placed) -> None:
        self._ledger.add(placed, -1)

    def _share(self, queue: Queue) -> float:
        return dominant(self._ledger.queues[queue.id], self._deserved[queue.id])

    def queue_order(self, left: Queue, right: Queue) -> float:
        return (right.priority - left.priority) or (self._share(left) - self._share(right))

    def overused(self, queue: Queue) -> bool:
        return bool(np.all(self._deserved[queue.id] <= self._ledger.queues[queue.id]))

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        if not queue.open:
            return refuse(QUEUE_CLOSED, queue=queue.name)
        held, limit = self._ledger.queues[queue.id], self._deserved[queue.id]
        for column, amount in task.cls.request.pairs:
            if column < self._ledger.width and held[column] + amount > limit[column]:
                return refuse(
                    QUEUE_LIMIT,
                    queue=queue.name,
                    use=int(held[column] + amount),
                    resource=self._names[column],
                    limit=int(limit[column]),
                )
        return None

    def headroom(self, queue: Queue, cls: TaskClass, count: int) -> int:
        if not queue.open:
            return 0
        held, limit = self._ledger.queues[queue.id], self._deserved[queue.id]
        for column, amount in cls.request.pairs:
            if column < self._ledger.width:
                count = min(count, int(max(0.0, limit[column] - held[column]) // amount))
        return count

    def preemptive(self, queue: Queue, task: Task) -> bool:
        return self.allocatable(queue, task) is None

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues that hold more than they deserve of something, as long as they do."""
        left = dict(self._ledger.queues)
        victims = []
        for task in candidates:
            queue = task.gang.queue
            if np.all(left[queue] <= self._deserved[queue]):
                continue
            left[queue] = left[queue] - self._ledger.of(task.cls)
            victims.append(task)
        return victims

    def job_enqueueable(self, gang: Gang) -> Vote:
        queue = self._session.queues[gang.queue]
        if not queue.open:
            return Vote.REJECT
        wanted = minimum_of(self._session, gang)
        asked = wanted > 0
        sum_of = wanted + self._ledger.queues[queue.id] + self._admitted[queue.id] - self._elastic[queue.id]
        fits = bool(np.all(sum_of[asked] <= self._limits[queue.id][asked]))
        return Vote.PERMIT if fits else Vote.REJECT

    def job_enqueued(self, gang: Gang) -> None:
        self._admitted[gang.queue] = self._admitted[gang.queue] + minimum_of(self._session, gang)


def _requests(session: Session, ledger: Ledger) -> dict[str, Amounts]:
    """What each queue holds and waits for."""
    wanted = {id: held.copy() for id, held in ledger.queues.items()}
    for gang in session.gangs:
        for task in gang.tasks.values():
            if task.state is State.PENDING:
                wanted[gang.queue] += ledger.of(task.cls)
    return wanted


def _admitted(session: Session, ledger: Ledger) -> dict[str, Amounts]:
    """What admitted gangs may still take, by queue."""
    found = {id: np.zeros(ledger.width) for id in session.queues}
    for gang in session.gangs:
        running = gang.phase is Phase.RUNNING and gang.minimum_resources is not None and gang.ready >= gang.minimum
        if gang.phase is Phase.INQUEUE or running:
            missing = minimum_of(session, gang) - ledger.gangs[gang.id]
            found[gang.queue] += np.maximum(missing, 0)
    return found


def _elastic(session: Session, ledger: Ledger) -> dict[str, Amounts]:
    """What gangs hold beyond their minimum, by queue: it can be given back."""
    found = {id: np.zeros(ledger.width) for id in session.queues}
    for gang in session.gangs:
        if gang.minimum_resources is not None:
            beyond = ledger.gangs[gang.id] - minimum_of(session, gang)
            found[gang.queue] += np.maximum(beyond, 0)
    return found


def _fill(
    session: Session,
    total: Amounts,
    limits: dict[str, Amounts],
    requests: dict[str, Amounts],
    guarantees: dict[str, Amounts],
) -> dict[str, Amounts]:
    deserved = {id: np.zeros(len(total)) for id in session.queues}
    remaining = total.copy()
    unmet = set(session.queues)
    while unmet:
        weights = sum(session.queues[id].weight for id in unmet)
        before = remaining.copy()
        taken = np.zeros(len(total))
        for id in sorted(unmet):
            old = deserved[id]
            new = old + remaining * (session.queues[id].weight / weights)
            new = np.maximum(np.minimum(np.minimum(new, limits[id]), requests[id]), guarantees[id])
            if np.all(requests[id] <= new) or np.array_equal(new, old):
                unmet.discard(id)
            deserved[id] = new
            taken += new - old
        remaining = np.maximum(remaining - taken, 0)
        if not np.any(remaining > 0) or np.array_equal(remaining, before):
            break
    return deserved
