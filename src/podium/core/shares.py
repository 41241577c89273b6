"""Shares of the cluster: who holds how much of what."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from podium.core.model import HOLDING, Gang, Queue, Task, TaskClass
from podium.core.plugin import Placed
from podium.core.resources import Request
from podium.core.session import Session

Amounts = NDArray[np.float64]


def dominant(held: Amounts, whole: Amounts) -> float:
    """The largest part that is held of anything; what there is none of counts as all of it once it is held."""
    share = 0.0
    for amount, total in zip(held.tolist(), whole.tolist(), strict=True):
        if total > 0:
            share = max(share, amount / total)
        elif amount > 0:
            share = max(share, 1.0)
    return share


class Ledger:
    """What each gang and queue holds, kept up to date through a session."""

    def __init__(self, session: Session) -> None:
        self.width = len(session.total)
        self.total: Amounts = session.total.astype(np.float64)
        self.gangs: dict[str, Amounts] = {}
        self.queues: dict[str, Amounts] = {id: np.zeros(self.width) for id in session.queues}
        self._dense: dict[int, Amounts] = {}
        for gang in session.gangs:
            held = self.gangs[gang.id] = np.zeros(self.width)
            for cls, count in _holding(gang.tasks.values()):
                held += self.of(cls) * count
            self.queues[gang.queue] += held

    def of(self, cls: TaskClass) -> Amounts:
        """A class's request as a vector."""
        found = self._dense.get(cls.number)
        if found is None:
            found = self._dense[cls.number] = self.dense(cls.request)
        return found

    def dense(self, request: Request) -> Amounts:
        vector = np.zeros(self.width)
        for column, amount in request.pairs:
            if column < self.width:
                vector[column] = amount
        return vector

    def add(self, placed: Placed, sign: int) -> None:
        amount = self.of(placed.cls) * (sign * len(placed.tasks))
        self.gangs[placed.gang.id] = self.gangs[placed.gang.id] + amount
        if placed.gang.queue in self.queues:
            self.queues[placed.gang.queue] = self.queues[placed.gang.queue] + amount


def _holding(tasks: Iterable[Task]) -> Iterable[tuple[TaskClass, int]]:
    counts: dict[TaskClass, int] = {}
    for task in tasks:
        if task.state in HOLDING:
            counts[task.cls] = counts.get(task.cls, 0) + 1
    return counts.items()


def vector_of(session: Session, amounts: dict[str, int], absent: float = 0.0) -> Amounts:
    """Amounts by name as a vector; names that are not given count `absent`."""
    vector = np.full(len(session.total), absent)
    for name, amount in amounts.items():
        column = session.cluster.dimensions.find(name)
        if column is not None and column < len(vector):
            vector[column] = amount
    return vector


def capability_of(session: Session, queue: Queue) -> Amounts:
    """A queue's limit: infinite where it names none."""
    return vector_of(session, queue.capability, absent=np.inf)


def minimum_of(session: Session, gang: Gang) -> Amounts:
    return vector_of(session, gang.minimum_resources or {})
