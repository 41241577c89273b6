"""proportion: queues share the cluster by weight, each at most what it asks for and may have.

What each queue deserves is found by filling: what is left is split by weight among the queues that want more, each
takes no more than it can use, and the rest is split again.

Shares are among the queues of one dialect.  Pods of others (those without a queue, for one) take from them what
they hold, and nothing for what they merely wait for: they may wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from podium.core.framework.plugin import Placed, Plugin, Vote
from podium.core.framework.session import Session
from podium.core.framework.shares import (
    TOLERANCE,
    Admissions,
    Amounts,
    Ledger,
    Standing,
    binding,
    capabilities_of,
    dominant,
    how_many,
    over,
    over_limit,
    real_limit,
    table_of,
)
from podium.core.model.model import Gang, Queue, State, Task, TaskClass
from podium.core.model.resources import PODS
from podium.queue_numbers import Bound
from podium.queue_reasons import QUEUE_CLOSED
from podium.reasons import Refusal, refuse


class Proportion(Plugin):
    name = "proportion"
    ORDERS_FLAT = True
    BY_WEIGHT = True

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._names = session.cluster.dimensions.names
        self._ledger = Ledger(session)
        queues = session.queues
        capability = capabilities_of(session, queues.values())
        guarantee = np.minimum(table_of(session, [queue.guarantee for queue in queues.values()]), capability)
        limits = real_limit(capability, self._ledger.total, guarantee.sum(axis=0), guarantee)
        self._capability = dict(zip(queues, capability, strict=True))
        self._limits = dict(zip(queues, limits, strict=True))
        guarantees = dict(zip(queues, guarantee, strict=True))
        requests = _requests(self._ledger, list(queues))
        self._deserved: dict[str, Amounts] = {}
        self._weights: dict[str, tuple[int, int]] = {}  # of each queue, and of all that share with it
        for dialect, left in _by_dialect(session, self._ledger).items():
            ids = [id for id, queue in queues.items() if queue.dialect == dialect]
            self._deserved |= _fill(session, ids, left, self._limits, requests, guarantees)
            weights = sum(_weight(session, id) for id in _sharing(session, ids))
            self._weights |= {id: (_weight(session, id), weights) for id in ids}
        self._bounds: dict[str, Amounts] = {}  # of those that somebody has asked for
        self._admissions = Admissions(session, self._ledger)

    def _bound(self, id: str) -> Amounts:
        """What a queue may hold of what it asks for; its number of pods is only bound by its own limit."""
        found = self._bounds.get(id)
        if found is None:
            found = self._bounds[id] = self._deserved[id].copy()
            found[PODS] = self._limits[id][PODS]
        return found

    def on_allocate(self, placed: Placed) -> None:
        self._ledger.add(placed, 1)

    def on_deallocate(self, placed: Placed) -> None:
        self._ledger.add(placed, -1)

    def _share(self, queue: Queue) -> float:
        return self._ledger.share(queue.id, lambda allocated: dominant(allocated, self._deserved[queue.id]))

    def queue_order(self, left: Queue, right: Queue) -> float:
        return (right.priority - left.priority) or (self._share(left) - self._share(right))

    def queue_key(self, queue: Queue) -> tuple[float, ...]:
        return -queue.priority, self._share(queue)

    def overused(self, queue: Queue) -> bool:
        enough = self._deserved[queue.id] <= self._ledger.queues[queue.id] + TOLERANCE
        enough[PODS] = True  # there are more places for pods than anything else: they would never be used up
        return bool(np.all(enough))

    def standing(self, queue: Queue) -> Standing:
        """How a queue stood at the end of the turn."""
        id = queue.id
        return Standing(
            self._ledger.queues[id],
            self._deserved[id],
            self._limits[id],
            self._share(queue),
            self.overused(queue),
            *self._weights[id],
        )

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        if not queue.open:
            return refuse(QUEUE_CLOSED, queue=queue.name)
        allocated, bound, request = self._ledger.queues[queue.id], self._bound(queue.id), task.cls.request
        column = over(request, allocated, bound)
        if column is None:
            return None
        limit, most = float(bound[column]), float(self._limits[queue.id][column])
        kind = Bound.SHARE
        weight, weights = self._weights[queue.id]
        if limit >= most - TOLERANCE:
            kind = binding(most, float(self._capability[queue.id][column]), float(self._ledger.total[column]))
        elif weight >= weights:
            kind = Bound.LEFT
        need = request.amount(column)
        return over_limit(queue, self._names[column], need, float(allocated[column]), limit, kind, weight, weights)

    def headroom(self, queue: Queue, cls: TaskClass, count: int) -> int:
        if not queue.open:
            return 0
        return how_many(cls.request, self._ledger.queues[queue.id], self._bound(queue.id), count)

    def preemptive(self, queue: Queue, task: Task) -> bool:
        return self.allocatable(queue, task) is None

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues that hold more than they deserve of something, as long as they do."""
        left: dict[str, Amounts] = {}
        victims = []
        for task in candidates:
            queue = task.gang.queue
            held = left.get(queue, self._ledger.queues[queue])
            if np.all(held <= self._deserved[queue] + TOLERANCE):
                continue
            left[queue] = held - self._ledger.of(task.cls)
            victims.append(task)
        return victims

    def job_enqueueable(self, gang: Gang) -> Vote:
        fits = self._session.queues[gang.queue].open and self._admissions.fits(gang, self._limits)
        return Vote.PERMIT if fits else Vote.REJECT

    def admission_refusal(self, gang: Gang) -> Refusal | None:
        return self._admissions.refusal(gang, self._limits, self._session.queues)

    def job_enqueued(self, gang: Gang) -> None:
        self._admissions.admit(gang)


def _requests(ledger: Ledger, ids: Sequence[str]) -> dict[str, Amounts]:
    """What each queue holds and waits for."""
    both = _rows(ledger.queues, ids, ledger.width) + _rows(ledger.summed("waiting"), ids, ledger.width)
    return dict(zip(ids, both, strict=True))


def _by_dialect(session: Session, ledger: Ledger) -> dict[str, Amounts]:
    """What the others leave of the whole to the queues of each dialect.

    What they only hold is left: whoever is before them in the order of groups may take it, and for others it is
    not free on any node.
    """
    allocated = {queue.dialect: np.zeros(ledger.width) for queue in session.queues.values()}
    for id, account in session.cluster.accounts.queues.items():
        queue = session.queues.get(id)
        own = allocated.setdefault(queue.dialect if queue is not None else "", np.zeros(ledger.width))
        for column, amount in account.allocated.items():
            if column < ledger.width:
                own[column] += amount
    held = {dialect: np.zeros(ledger.width) for dialect in allocated}
    for gang in session.holders.values():
        queue = session.queues.get(gang.queue)
        for task in gang.tasks.values() if gang.id in session.cluster.gangs else ():
            if task.state is State.RESERVED and task.has_pod:
                for column, amount in task.cls.request.pairs:
                    held[queue.dialect if queue is not None else ""][column] += amount
    bound = {dialect: own - held[dialect] for dialect, own in allocated.items()}
    everything = sum(bound.values(), np.zeros(ledger.width))
    return {dialect: np.maximum(ledger.total - (everything - own), 0) for dialect, own in bound.items()}


def _sharing(session: Session, ids: Iterable[str]) -> set[str]:
    """The queues that have a part in what is shared: those with gangs."""
    accounts = session.cluster.accounts.queues
    return {id for id in ids if id in accounts and accounts[id].gangs}


def _weight(session: Session, id: str) -> int:
    return max(1, session.queues[id].weight)


def _fill(
    session: Session,
    ids: Sequence[str],
    total: Amounts,
    limits: dict[str, Amounts],
    requests: dict[str, Amounts],
    guarantees: dict[str, Amounts],
) -> dict[str, Amounts]:
    """What each of some queues deserves.  One without gangs has no part in it, but its guarantee is kept."""
    ordered = sorted(ids)
    sharing = _sharing(session, ids)
    weight = np.array([_weight(session, id) for id in ordered], dtype=np.float64)
    limit, request, guarantee = (_rows(part, ordered, len(total)) for part in (limits, requests, guarantees))
    deserved = np.zeros((len(ordered), len(total)))
    unmet = np.array([id in sharing for id in ordered], dtype=bool)
    remaining = np.maximum(total - guarantee[~unmet].sum(axis=0), 0)
    while unmet.any():
        rows = np.flatnonzero(unmet)
        parts = weight[rows] / weight[rows].sum()
        before, old = remaining, deserved[rows]
        new = old + remaining * parts[:, np.newaxis]
        new = np.maximum(np.minimum(np.minimum(new, limit[rows]), request[rows]), guarantee[rows])
        deserved[rows] = new
        unmet[rows[(request[rows] <= new).all(axis=1) | (new == old).all(axis=1)]] = False
        remaining = np.maximum(remaining - (new - old).sum(axis=0), 0)
        if not np.any(remaining > 0) or np.array_equal(remaining, before):
            break
    return dict(zip(ordered, deserved, strict=True))


def _rows(amounts: dict[str, Amounts], ids: Sequence[str], width: int) -> Amounts:
    """What some queues have, a row for each."""
    return np.array([amounts[id] for id in ids]).reshape(len(ids), width)
