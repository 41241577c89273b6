"""Shares of the cluster: who holds how much of what, and who has been let in.

The arithmetic that the plugins for fairness and quotas have in common.  Vectors have one number a resource, in the
order of the session's columns.  Sums by queue go up the tree where there is one: a queue's line is the queue
itself and everything above it, and what a gang takes counts for its whole line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.accounts import Sums
from podium.core.framework.plugin import Placed
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Queue, Task, TaskClass
from podium.core.model.resources import CPU, LIMIT, MEMORY, PODS, Request
from podium.queue_numbers import Bound, QueueUse
from podium.queue_reasons import ADMISSION_FULL, QUEUE_LIMIT, QUEUE_OVERUSED
from podium.reasons import Refusal

Amounts = NDArray[np.float64]
Ancestors = Mapping[str, Sequence[str]]

# Shares are fractions of thousandths and bytes: a difference below this is rounding.
TOLERANCE = 0.1


def dominant(allocated: Amounts, whole: Amounts) -> float:
    """The largest part that is held of anything; what there is none of counts as all of it once it is held."""
    share = 0.0
    for amount, total in zip(allocated.tolist(), whole.tolist(), strict=True):
        if total > 0:
            share = max(share, amount / total)
        elif amount > 0:
            share = max(share, 1.0)
    return share


class Standing(msgspec.Struct, frozen=True):
    """How a queue stands in the eyes of the plugin that shares the cluster out: for metrics and refusals."""

    allocated: Amounts
    deserved: Amounts
    limit: Amounts
    share: float
    overused: bool
    weight: int = 0  # of the sum of the weights that count, where shares go by weight
    weights: int = 0

    def part(self, column: int) -> float:
        """How much of its share of one resource it holds."""
        return float(self.allocated[column] / max(self.deserved[column], 1))

    def use(self, queue: Queue, resource: str, column: int, need: float, whole: float) -> QueueUse:
        """Its share in one resource, of which the cluster has so much, for somebody who needs more."""
        holds, share = float(self.allocated[column]), float(self.deserved[column])
        bound = Bound.SHARE
        if share >= whole - TOLERANCE:
            bound = Bound.CLUSTER
        elif 0 < self.weights <= self.weight:
            bound = Bound.LEFT
        return QueueUse(called(queue), resource, need, holds, share, bound, self.weight, self.weights)


@runtime_checkable
class Sharing(Protocol):
    """A plugin that shares the cluster out between queues."""

    def standing(self, queue: Queue) -> Standing: ...


class Ledger:
    """What each gang and queue holds, kept up to date through a session."""

    def __init__(self, session: Session, ancestors: Ancestors | None = None) -> None:
        self.width = len(session.total)
        self.total: Amounts = session.shared.astype(np.float64)
        self.ancestors: Ancestors = ancestors if ancestors is not None else {id: (id,) for id in session.queues}
        self._nothing: Amounts = np.zeros(self.width)
        self._nothing.flags.writeable = False
        self._accounts = session.cluster.accounts
        self._gangs: dict[str, Amounts] = {}  # those that somebody has asked for
        self._dense: dict[int, Amounts] = {}
        self._shares: dict[str, float] = {}
        self.queues = self.summed("allocated")

    def zeros(self) -> dict[str, Amounts]:
        """Nothing, for every queue.  It is the same nothing: sums are replaced, never changed."""
        return dict.fromkeys(self.ancestors, self._nothing)

    def summed(self, part: str) -> dict[str, Amounts]:
        """Some sum of every queue and of everything below it, as it stood when the session began."""
        sums = self.zeros()
        for id, account in self._accounts.queues.items():
            if id in sums and getattr(account, part):
                self.raise_ancestors(sums, id, account.vector(part, self.width))
        return sums

    def vector(self, sums: Sums) -> Amounts:
        vector = np.zeros(self.width)
        for column, amount in sums.items():
            if column < self.width:
                vector[column] = amount
        return vector

    def allocated(self, gang: str) -> Amounts:
        """What a gang holds."""
        found = self._gangs.get(gang)
        if found is None:
            account = self._accounts.gangs.get(gang)
            found = self._gangs[gang] = self.vector(account.allocated if account is not None else {})
        return found

    def raise_ancestors(self, sums: dict[str, Amounts], queue: str, amount: Amounts) -> None:
        """Adds to the sums of a queue and of everything above it."""
        for id in self.ancestors.get(queue, ()):
            before = sums[id]
            sums[id] = amount if before is self._nothing else before + amount

    def share(self, queue: str, measure: Callable[[Amounts], float]) -> float:
        """A queue's share by some measure: looked up by every comparison, so it is kept until it changes."""
        found = self._shares.get(queue)
        if found is None:
            found = self._shares[queue] = measure(self.queues[queue])
        return found

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

    def requested(self, tasks: Iterable[Task]) -> Amounts:
        """The sum of what some tasks ask for."""
        vector = np.zeros(self.width)
        for cls, count in _counted(tasks):
            vector += self.of(cls) * count
        return vector

    def add(self, placed: Placed, sign: int) -> None:
        amount = self.of(placed.cls) * (sign * len(placed.tasks))
        if placed.gang.id in self._accounts.gangs:
            self._gangs[placed.gang.id] = self.allocated(placed.gang.id) + amount
            self.raise_ancestors(self.queues, placed.gang.queue, amount)
            for id in self.ancestors.get(placed.gang.queue, ()):
                self._shares.pop(id, None)


def _counted(tasks: Iterable[Task]) -> Iterable[tuple[TaskClass, int]]:
    counts: dict[TaskClass, int] = {}
    for task in tasks:
        counts[task.cls] = counts.get(task.cls, 0) + 1
    return counts.items()


class Admissions:
    """What has been let in and not been placed yet, and what could be given back, by queue.

        wanted + held + let in - elastic <= limit

    Let in is what admitted gangs may still take of their minimum; elastic what gangs hold beyond it.
    """

    def __init__(self, session: Session, ledger: Ledger) -> None:
        self._session = session
        self._ledger = ledger
        self._inqueue = ledger.summed("inqueue")
        self._elastic = ledger.summed("elastic")

    def fits(self, gang: Gang, limits: Mapping[str, Amounts]) -> bool:
        """Whether a gang's minimum fits every limit of its queue's line, in what it asks for."""
        return next(self._over(gang, limits), None) is None

    def _over(self, gang: Gang, limits: Mapping[str, Amounts]) -> Iterator[tuple[str, list[int]]]:
        """The queues whose limits a gang's minimum would break, and in which resources."""
        wanted = minimum_of(self._session, gang)
        asked = wanted > 0
        for id in self._ledger.ancestors[gang.queue]:
            over = asked & (wanted + self._taken(id) > limits[id] + TOLERANCE)
            if np.any(over):
                yield id, np.flatnonzero(over).tolist()

    def _taken(self, id: str) -> Amounts:
        taken: Amounts = self._ledger.queues[id] + self._inqueue[id] - self._elastic[id]
        return taken

    def refusal(self, gang: Gang, limits: Mapping[str, Amounts], queues: Mapping[str, Queue]) -> Refusal | None:
        """Which limit a gang's minimum would break."""
        names, wanted = self._session.cluster.dimensions.names, minimum_of(self._session, gang)
        for id, columns in self._over(gang, limits):
            column = min(columns, key=lambda each: names[each])
            capability = float(capability_of(self._session, queues[id])[column])
            limit = float(limits[id][column])
            bound = binding(limit, capability, float(self._ledger.total[column]))
            holds = float(self._taken(id)[column])
            use = QueueUse(called(queues[id]), names[column], float(wanted[column]), holds, limit, bound)
            return Refusal(ADMISSION_FULL, use)
        return None

    def admit(self, gang: Gang) -> None:
        self._ledger.raise_ancestors(self._inqueue, gang.queue, minimum_of(self._session, gang))


# --- limits ----------------------------------------------------------------------------------------------------


def over(request: Request, allocated: Amounts, limit: Amounts) -> int | None:
    """The first resource of which one more such task would be too much."""
    for column, amount in request.pairs:
        if column < len(limit) and amount > limit[column] - allocated[column] + TOLERANCE:
            return column
    return None


def how_many(request: Request, allocated: Amounts, limit: Amounts, count: int) -> int:
    """How many of `count` such tasks fit below a limit."""
    for column, amount in request.pairs:
        if column < len(limit) and limit[column] < np.inf:
            count = min(count, int(max(0.0, limit[column] - allocated[column] + TOLERANCE) // amount))
    return count


def over_limit(
    queue: Queue,
    resource: str,
    need: float,
    holds: float,
    limit: float,
    bound: Bound = Bound.CAPABILITY,
    weight: int = 0,
    weights: int = 0,
) -> Refusal:
    """The refusal of a task that would bring a queue above a limit, or above its share."""
    use = QueueUse(called(queue), resource, need, holds, limit, bound, weight, weights)
    return Refusal(QUEUE_OVERUSED if bound is Bound.SHARE else QUEUE_LIMIT, use)


def called(queue: Queue) -> str:
    """The name that users know a queue by; "" for what stands for those who are in none."""
    return queue.name or queue.id if queue.id else ""


def binding(limit: float, capability: float, whole: float) -> Bound:
    """What makes a queue's limit what it is."""
    if capability <= limit + TOLERANCE:
        return Bound.CAPABILITY
    return Bound.CLUSTER if limit >= whole - TOLERANCE else Bound.LIMIT


# --- numbers of queues and gangs as vectors ----------------------------------------------------------------------


def table_of(session: Session, rows: Collection[Mapping[str, int]], absent: float = 0.0) -> Amounts:
    """Amounts by name, a row for each; names that are not given count `absent`, negative amounts nothing.

    All queues of a cluster at once: every turn asks for them, and there may be thousands.
    """
    width, find = len(session.total), session.cluster.dimensions.find
    table = np.full((len(rows), width), absent)
    for row, amounts in enumerate(rows):
        for name, amount in amounts.items():
            column = find(name)
            if column is not None and column < width:
                table[row, column] = min(max(amount, 0), LIMIT)
    return table


def vector_of(session: Session, amounts: Mapping[str, int], absent: float = 0.0) -> Amounts:
    """The same for one."""
    vector: Amounts = table_of(session, (amounts,), absent)[0]
    return vector


def capabilities_of(session: Session, queues: Iterable[Queue]) -> Amounts:
    """Queues' limits: infinite where they name none.  No CPU or no memory at all counts as not named."""
    table = table_of(session, [queue.capability for queue in queues], absent=np.inf)
    table[:, [CPU, MEMORY]] = np.where(table[:, [CPU, MEMORY]] <= 0, np.inf, table[:, [CPU, MEMORY]])
    return table


def capability_of(session: Session, queue: Queue) -> Amounts:
    """The limit of one."""
    vector: Amounts = capabilities_of(session, (queue,))[0]
    return vector


def real_limit(capability: Amounts, whole: Amounts, reserved: Amounts, own: Amounts) -> Amounts:
    """What a queue can have at the most: its capability, and what the guarantees of the others leave of the whole.

    Places on nodes are no resource that queues compete for: only a queue's own number of pods limits it.  Takes
    one queue or, as rows, many.
    """
    limit: Amounts = np.minimum(capability, np.maximum(whole - reserved, 0) + own)
    limit[..., PODS] = capability[..., PODS]
    return limit


def minimum_of(session: Session, gang: Gang) -> Amounts:
    """A gang's least; several plugins ask for it, so it is kept for the session, and nobody changes it."""
    found = session.minimums.get(gang.id)
    if found is None:
        found = session.minimums[gang.id] = vector_of(session, gang.minimum_resources or {})
    return found
