"""What the capacity plugin makes of the numbers of queues: guarantee, deserved share and real limit of each.

    flat         limit = min(capability, total - all guarantees + own guarantee)
    as a tree    limit = min(capability, parent's limit - guarantees of its children + own guarantee)

The root of a tree is as large as it says; one that says nothing is infinite, so that a cluster that grows needs no
change.  What a queue does not name it may have as far as its parent may: the parent's limit is in the sum above.

Numbers that contradict each other are bent until they do not, and what was bent is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from podium.core.framework.session import Session
from podium.core.framework.shares import TOLERANCE, Amounts, capability_of, real_limit, vector_of
from podium.core.model.model import Queue
from podium.core.model.resources import CPU, MEMORY
from podium.core.plugins.queue_tree import QueueTree
from podium.queue_numbers import QueuePromise
from podium.queue_reasons import QUEUE_GUARANTEE, QUEUE_NEGATIVE, QUEUE_PROMISES
from podium.reasons import Reason, Refusal, refuse


class Quota(msgspec.Struct):
    """What one queue is promised, should have, and may have at the most."""

    guarantee: Amounts
    deserved: Amounts
    limit: Amounts
    named: np.ndarray[tuple[int], np.dtype[np.bool_]]  # resources that the deserved share speaks of
    deserves: bool  # anything at all, also of resources that the cluster does not have

    def share(self, allocated: Amounts) -> float:
        """How much of its deserved share a queue holds; one that deserves nothing counts as having all of it."""
        if not self.deserves:
            return 1.0
        spoken = self.deserved > 0
        return float(np.max(allocated[spoken] / self.deserved[spoken], initial=0.0))


def flat_quotas(session: Session) -> dict[str, Quota]:
    """Every queue for itself."""
    queues = session.queues
    capability = {id: capability_of(session, queue) for id, queue in queues.items()}
    guarantee = {id: _guarantee(session, queue, capability[id]) for id, queue in queues.items()}
    total = session.shared.astype(np.float64)
    reserved = _sum(guarantee.values(), len(total))
    return {
        id: _quota(session, queue, guarantee[id], real_limit(capability[id], total, reserved, guarantee[id]))
        for id, queue in queues.items()
    }


def tree_quotas(session: Session, tree: QueueTree) -> dict[str, Quota]:
    """Every queue within its parent."""
    for id, fault in tree.faults:
        session.report(id, fault)
    capability = {id: capability_of(session, queue) for id, queue in tree.queues.items()}
    found: dict[str, Quota] = {}
    for root in tree.roots:
        # A root stands for the sum of what is below it; what it is guaranteed itself nobody competes for.
        found[root] = _quota(session, tree.queues[root], np.zeros(len(session.total)), capability[root])
    waiting = list(tree.roots)
    while waiting:
        parent = waiting.pop()
        children = tree.children[parent]
        above = found[parent].limit
        guarantee = {
            id: _guarantee(session, tree.queues[id], np.minimum(capability[id], above)) for id in children
        }
        reserved = _sum(guarantee.values(), len(above))
        _check_promise(session, tree.queues[parent], QUEUE_PROMISES, reserved, above)
        for id in children:
            limit = real_limit(np.minimum(capability[id], above), above, reserved, guarantee[id])
            found[id] = _quota(session, tree.queues[id], guarantee[id], limit)
        waiting += children
    return found


def _quota(session: Session, queue: Queue, guarantee: Amounts, limit: Amounts) -> Quota:
    deserved = np.maximum(np.minimum(vector_of(session, queue.deserved), limit), guarantee)
    named = deserved > 0
    for name in queue.deserved:
        column = session.cluster.dimensions.find(name)
        if column is not None and column < len(named) and column not in (CPU, MEMORY):
            named[column] = True  # a share of none is spoken of as well
    deserves = any(amount > 0 for amount in (*queue.deserved.values(), *queue.guarantee.values()))
    _check_signs(session, queue)
    return Quota(guarantee, deserved, limit, named, deserves)


def _guarantee(session: Session, queue: Queue, most: Amounts) -> Amounts:
    """A promise that can be kept as far as the queue's own limit goes."""
    promised = vector_of(session, queue.guarantee)
    _check_promise(session, queue, QUEUE_GUARANTEE, promised, most)
    result: Amounts = np.minimum(promised, most)
    return result


def _check_promise(session: Session, queue: Queue, reason: Reason[...], promised: Amounts, limit: Amounts) -> None:
    """Reports every resource of which more is promised than there may be."""
    for column in np.flatnonzero(promised > limit + TOLERANCE).tolist():
        name = session.cluster.dimensions.names[column]
        wrong = QueuePromise(queue.name or queue.id, name, int(promised[column]), int(limit[column]))
        session.report(queue.id, Refusal(reason, wrong))


def _check_signs(session: Session, queue: Queue) -> None:
    fields: tuple[tuple[str, Mapping[str, int]], ...] = (
        ("capability", queue.capability),
        ("deserved", queue.deserved),
        ("guarantee", queue.guarantee),
    )
    for field, amounts in fields:
        for name, amount in amounts.items():
            if amount < 0:
                # No CPU or memory at all cannot be meant as a limit, here as in a capability of zero.
                taken = "no limit" if field == "capability" and name in ("cpu", "memory") else "none"
                fault = refuse(
                    QUEUE_NEGATIVE,
                    queue=queue.name or queue.id,
                    field=field,
                    resource=name,
                    amount=amount,
                    taken=taken,
                )
                session.report(queue.id, fault)


def _sum(vectors: Iterable[Amounts], width: int) -> Amounts:
    return sum(vectors, np.zeros(width))
