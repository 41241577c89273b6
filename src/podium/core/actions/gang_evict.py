"""gangpreempt and gangreclaim: preempt and reclaim with whole gangs as victims, so that few jobs are disturbed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from podium.core.actions.bundles import displace
from podium.core.actions.common import MAX_DOMAINS, MIN_RUNTIME, WHOLE_BUNDLES
from podium.core.actions.gang_queue import GangQueue
from podium.core.actions.portions import chosen, in_order, is_starving
from podium.core.actions.victims import Eligible
from podium.core.framework.action import Action
from podium.core.framework.session import Session
from podium.core.model.model import HOLDING, Gang, Queue, Task


class GangPreempt(Action):
    """Within a queue, for gangs of strictly higher priority than their victims."""

    name = "gangpreempt"
    ARGUMENTS = (WHOLE_BUNDLES, MAX_DOMAINS, MIN_RUNTIME)

    def run(self, session: Session) -> Iterator[None]:
        least = _least_priorities(session)
        starving = yield from chosen(session.own, partial(is_starving, session))
        for gang in (yield from in_order(session, starving)):
            if gang.priority > least.get(gang.queue, math.inf):
                session.attempt(gang, partial(self._preempt, session, gang), None)
            yield

    def _preempt(self, session: Session, gang: Gang) -> None:
        displace(
            session,
            gang,
            _lower(gang),
            session.arguments(self.name),
            session.preemptable,
            f"preempted for {gang.namespace}/{gang.name}",
            allowed=lambda task: True,
        )


class GangReclaim(Action):
    """Between queues, for queues that are below their share."""

    name = "gangreclaim"
    ARGUMENTS = (WHOLE_BUNDLES, MAX_DOMAINS, MIN_RUNTIME)

    def run(self, session: Session) -> Iterator[None]:
        gang_queue = GangQueue(session)
        yield from gang_queue.filling((yield from chosen(session.own, partial(is_starving, session))))
        while (queue := gang_queue.next_queue()) is not None:
            if session.overused(queue):
                gang_queue.drop_queue(queue)
            else:
                gang = gang_queue.pop(queue)
                session.attempt(gang, partial(self._reclaim, session, queue, gang), None)
                yield

    def _reclaim(self, session: Session, queue: Queue, gang: Gang) -> None:
        def lent(victim: Task) -> bool:
            owner = session.queues.get(victim.gang.queue)
            return owner is not None and owner.id != queue.id and owner.reclaimable

        displace(
            session,
            gang,
            lent,
            session.arguments(self.name),
            session.reclaimable,
            f"reclaimed by queue {queue.name}",
            allowed=lambda task: session.preemptive(queue, task),
        )


def _least_priorities(session: Session) -> dict[str, int]:
    """By queue, that of the least important gang that holds anything: nobody below it need look for victims."""
    least: dict[str, int] = {}
    for gang in session.cluster.gangs.values():
        if gang.count(HOLDING):
            least[gang.queue] = min(gang.priority, least.get(gang.queue, gang.priority))
    return least


def _lower(gang: Gang) -> Eligible:
    return lambda victim: victim.gang.queue == gang.queue and victim.gang.priority < gang.priority
