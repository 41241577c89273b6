"""Gates that stand for a queue's quota: a task behind one is not looked at before its queue may take it.

Who adds nodes to a cluster looks at tasks that found none.  A task that waits for the limit of a queue must not be
among them: no node would help it.  So such tasks may be created behind a gate, which is lifted here as soon as the
limit allows; from then on the task waits for nothing but nodes.

Limits are the queue's own and those of the queues above it, as they are written: shares that follow from the size
of the cluster would grow with it.  What has been let through counts from then on, be it placed or not.  A gang is
let through when that makes it whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from podium.core.actions.gang_queue import GangQueue
from podium.core.actions.portions import chosen
from podium.core.framework.session import Session
from podium.core.framework.shares import Amounts, capability_of, over_limit
from podium.core.model import quorum
from podium.core.model.decisions import Ungate
from podium.core.model.model import Gang, Phase, Queue, QuotaGate, State, Task
from podium.queue_reasons import QUEUE_CLOSED
from podium.reasons import Refusal, refuse


def lift_gates(session: Session) -> Iterator[None]:
    """Lets tasks through that their queues may take, at the end of a turn; some gangs at a time."""
    if not session.cluster.quota_gated:
        return
    closed = yield from chosen(session.own, lambda gang: gang.phase is not Phase.PENDING and any(_closed(gang)))
    limits = _Limits(session)
    gang_queue = GangQueue(session)
    yield from gang_queue.filling(closed)
    while (queue := gang_queue.next_queue()) is not None:
        gang = gang_queue.pop(queue)
        session.attempt(gang, partial(_let_through, session, limits, queue, gang), None)
        yield


def _let_through(session: Session, limits: _Limits, queue: Queue, gang: Gang) -> None:
    """Opens the gates of a gang as far as its queue may take it, if that is far enough."""
    refusal = session.invalid(gang)
    if refusal is None and not queue.open:
        refusal = refuse(QUEUE_CLOSED, queue=queue.name or queue.id)
    admitted: list[Task] = []
    for task in session.sorted_tasks(_closed(gang)) if refusal is None else ():
        above = limits.refusal(queue, task)
        refusal = refusal or above
        if above is None:
            limits.count(queue.id, task, 1)
            admitted.append(task)
    if not admitted or quorum.missing(gang, also=[*_through(gang), *admitted]) > 0:
        for task in admitted:
            limits.count(queue.id, task, -1)
        if refusal is not None:
            session.refuse(gang, refusal)
        return
    for task in admitted:
        task.quota_gate = QuotaGate.OPENING
        session.decisions.append(Ungate(task.id))


class _Limits:
    """What queues may hold, and what they hold or have let through."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cluster = session.cluster
        self._cluster.settle()  # the turn has placed some
        self._limits: dict[str, Amounts] = {}
        self._used: dict[str, Amounts] = {}
        for id, account in self._cluster.accounts.queues.items():
            for column, amount in account.allocated.items():
                self._add(id, column, amount)
        for gang in self._cluster.accounts.active.values():
            if gang.phase is not Phase.PENDING:
                for task in _through(gang):
                    self.count(gang.queue, task, 1)

    def refusal(self, queue: Queue, task: Task) -> Refusal | None:
        """Which limit a task would break: of its queue, or of one above."""
        names = self._cluster.dimensions.names
        for each in self._upwards(queue.id):
            limit = self._limits.get(each.id)
            if limit is None:
                limit = self._limits[each.id] = capability_of(self._session, each)
            used = self._used.get(each.id)
            for column, amount in task.cls.request.pairs:
                holds = float(used[column]) if used is not None else 0.0
                if holds + amount > limit[column]:
                    return over_limit(each, names[column], amount, holds, float(limit[column]))
        return None

    def count(self, queue: str, task: Task, sign: int) -> None:
        for column, amount in task.cls.request.pairs:
            self._add(queue, column, sign * amount)

    def _add(self, queue: str, column: int, amount: int) -> None:
        for each in self._upwards(queue):
            if each.id not in self._used:
                self._used[each.id] = np.zeros(len(self._session.total))
            self._used[each.id][column] += amount

    def _upwards(self, id: str) -> Iterator[Queue]:
        """A queue and those above it; parents that go in a circle end where they began."""
        seen: set[str] = set()
        while id not in seen and (queue := self._session.queues.get(id)) is not None:
            seen.add(id)
            yield queue
            id = queue.parent


def _closed(gang: Gang) -> Iterator[Task]:
    return (task for task in gang.tasks.values() if task.quota_gate is QuotaGate.CLOSED)


def _through(gang: Gang) -> Iterator[Task]:
    """Tasks that wait for a place and for nothing else."""
    for task in gang.tasks.values():
        if task.state is State.PENDING and (not task.gated or task.quota_gate is QuotaGate.OPENING):
            yield task
