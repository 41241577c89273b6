"""What the capacity plugin makes of the numbers of queues: guarantee, deserved share and real limit of each.

    flat         limit = min(capability, total - all guarantees + own guarantee)
    as a tree    limit = min(capability, parent's limit - guarantees of its children + own guarantee)

The root of a tree is as large as it says; one that says nothing is infinite, so that a cluster that grows needs no
change.  What a queue does not name it may have as far as its parent may: the parent's limit is in the sum above.

Numbers that contradict each other are bent until they do not, and what was bent is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from podium.core.framework.session import Session
from podium.core.framework.shares import TOLERANCE, Amounts, capabilities_of, real_limit, table_of
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
    queues = list(session.queues.values())
    capability = capabilities_of(session, queues)
    guarantee = _guarantees(session, queues, capability)
    total = session.shared.astype(np.float64)
    limit = real_limit(capability, total, guarantee.sum(axis=0), guarantee)
    return _quotas(session, queues, guarantee, limit)


def tree_quotas(session: Session, tree: QueueTree) -> dict[str, Quota]:
    """Every queue within its parent."""
    for id, fault in tree.faults:
        session.report(id, fault)
    capability = dict(zip(tree.queues, capabilities_of(session, tree.queues.values()), strict=True))
    roots = [tree.queues[id] for id in tree.roots]
    # A root stands for the sum of what is below it; what it is guaranteed itself nobody competes for.
    limits = capabilities_of(session, roots)
    found = _quotas(session, roots, np.zeros_like(limits), limits)
    waiting = list(tree.roots)
    while waiting:
        parent = waiting.pop()
        children = tree.children[parent]
        if not children:
            continue
        above = found[parent].limit
        queues = [tree.queues[id] for id in children]
        most = np.minimum([capability[id] for id in children], above)
        guarantee = _guarantees(session, queues, most)
        reserved = guarantee.sum(axis=0)
        _check_promises(session, [tree.queues[parent]], QUEUE_PROMISES, reserved[np.newaxis], above)
        found |= _quotas(session, queues, guarantee, real_limit(most, above, reserved, guarantee))
        waiting += children
    return found


def _quotas(session: Session, queues: Sequence[Queue], guarantee: Amounts, limit: Amounts) -> dict[str, Quota]:
    """Of queues whose guarantees and limits are rows."""
    deserved = np.maximum(np.minimum(table_of(session, [each.deserved for each in queues]), limit), guarantee)
    named = deserved > 0
    found = {}
    for row, queue in enumerate(queues):
        for name in queue.deserved:
            column = session.cluster.dimensions.find(name)
            if column is not None and column < named.shape[1] and column not in (CPU, MEMORY):
                named[row, column] = True  # a share of none is spoken of as well
        deserves = any(amount > 0 for amount in (*queue.deserved.values(), *queue.guarantee.values()))
        _check_signs(session, queue)
        found[queue.id] = Quota(guarantee[row], deserved[row], limit[row], named[row], deserves)
    return found


def _guarantees(session: Session, queues: Sequence[Queue], most: Amounts) -> Amounts:
    """Promises that can be kept as far as the queues' own limits go."""
    promised = table_of(session, [each.guarantee for each in queues])
    _check_promises(session, queues, QUEUE_GUARANTEE, promised, most)
    result: Amounts = np.minimum(promised, most)
    return result


def _check_promises(
    session: Session, queues: Sequence[Queue], reason: Reason[...], promised: Amounts, limit: Amounts
) -> None:
    """Reports every resource of which a queue is promised more than there may be."""
    limit = np.broadcast_to(limit, promised.shape)
    for row, column in np.argwhere(promised > limit + TOLERANCE).tolist():
        queue, name = queues[row], session.cluster.dimensions.names[column]
        wrong = QueuePromise(queue.name or queue.id, name, int(promised[row, column]), int(limit[row, column]))
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
