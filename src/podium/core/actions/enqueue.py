"""enqueue: which gangs may have their pods created and compete for room."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from podium.core.actions.gang_queue import GangQueue
from podium.core.framework.action import Action
from podium.core.framework.arguments import Argument
from podium.core.framework.session import Session
from podium.core.framework.shares import called, minimum_of
from podium.core.model.decisions import GangPhase
from podium.core.model.model import Gang, Phase
from podium.queue_numbers import Bound, QueueUse
from podium.queue_reasons import NOT_ADMITTED, QUEUE_BLOCKED, QUEUE_CLOSED, QUEUE_STOPPED
from podium.reasons import Refusal, refuse


class Enqueue(Action):
    """Admits pending gangs in order.  One that is refused holds up those behind it only in a fifo queue."""

    name = "enqueue"
    ADMITS = True
    PEACEFUL = True
    ARGUMENTS = (
        Argument(
            "overcommit-factor",
            1.2,
            "how much of the whole cluster may be used or admitted, in files for Volcano 1.1",
            "the plugin overcommit has this argument now",
        ),
    )

    def run(self, session: Session) -> Iterator[None]:
        gang_queue = GangQueue(session)
        yield from gang_queue.filling(gang for gang in session.own if gang.phase is Phase.PENDING)
        while (queue := gang_queue.next_queue()) is not None:
            gang = gang_queue.pop(queue)
            admitted = session.attempt(gang, partial(self._admit, session, gang), False)
            if not admitted and queue.fifo:
                for later in gang_queue.drop_queue(queue):
                    session.refuse(later, refuse(QUEUE_BLOCKED, queue=queue.name, gang=gang.name))
            yield

    def _admit(self, session: Session, gang: Gang) -> bool:
        if gang.minimum_resources is not None and not session.enqueueable(gang):
            session.refuse(gang, _why_not(session, gang))
            return False
        session.enqueued(gang)
        gang.enter(Phase.INQUEUE)
        session.decisions.append(GangPhase(gang.id, Phase.INQUEUE))
        return True


def _why_not(session: Session, gang: Gang) -> Refusal:
    """What keeps a gang out: what a plugin says, or what can be seen from outside of those that voted so."""
    queue = session.queues[gang.queue]
    if not queue.open:
        return refuse(QUEUE_CLOSED, queue=queue.name or queue.id)
    for refusal in session.not_enqueueable(gang):
        use = refusal.numbers
        if not (isinstance(use, QueueUse) and use.bound is Bound.CLUSTER):
            return refusal
    nodes, wanted = session.cluster.nodes, minimum_of(session, gang)
    used = nodes.used[: nodes.count][nodes.live[: nodes.count]].sum(axis=0)[: len(wanted)]
    free = np.maximum(session.total - used, 0)
    for column in np.flatnonzero(wanted > free):
        name = session.cluster.dimensions.names[column]
        need, have, total = (float(amounts[column]) for amounts in (wanted, free, session.total))
        return refuse(NOT_ADMITTED, resource=name, need=need, free=have, total=total)
    return refuse(QUEUE_STOPPED, queue=called(queue))
