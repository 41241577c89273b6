"""gangpreempt and gangreclaim: preempt and reclaim with whole gangs as victims, so that few jobs are disturbed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.action import Action
from podium.core.actions.bundles import displace
from podium.core.actions.common import MAX_DOMAINS, MIN_RUNTIME, WHOLE_BUNDLES
from podium.core.actions.line import Line
from podium.core.actions.victims import Eligible, Prey
from podium.core.model import Gang, Phase, Queue, Task
from podium.core.session import Session


class GangPreempt(Action):
    """Within a queue, for gangs of strictly higher priority than their victims."""

    name = "gangpreempt"
    ARGUMENTS = (WHOLE_BUNDLES, MAX_DOMAINS, MIN_RUNTIME)

    def run(self, session: Session) -> Iterator[None]:
        for gang in sorted(_starving(session), key=session.job_key):
            session.attempt(gang, partial(self._preempt, session, gang), None)
            yield

    def _preempt(self, session: Session, gang: Gang) -> None:
        arguments = session.arguments(self.name)
        displace(
            session,
            gang,
            Prey(session, _lower(gang), arguments),
            session.preemptable,
            f"preempted for {gang.namespace}/{gang.name}",
            whole=arguments.flag(WHOLE_BUNDLES.name),
            allowed=lambda task: True,
        )


class GangReclaim(Action):
    """Between queues, for queues that are below their share."""

    name = "gangreclaim"
    ARGUMENTS = (WHOLE_BUNDLES, MAX_DOMAINS, MIN_RUNTIME)

    def run(self, session: Session) -> Iterator[None]:
        line = Line(session, _starving(session))
        while (queue := line.next_queue()) is not None:
            if session.overused(queue):
                line.drop_queue(queue)
            else:
                gang = line.pop(queue)
                session.attempt(gang, partial(self._reclaim, session, queue, gang), None)
                yield

    def _reclaim(self, session: Session, queue: Queue, gang: Gang) -> None:
        def lent(victim: Task) -> bool:
            owner = session.queues.get(victim.gang.queue)
            return owner is not None and owner.id != queue.id and owner.reclaimable

        arguments = session.arguments(self.name)
        displace(
            session,
            gang,
            Prey(session, lent, arguments),
            session.reclaimable,
            f"reclaimed by queue {queue.name}",
            whole=arguments.flag(WHOLE_BUNDLES.name),
            allowed=lambda task: session.preemptive(queue, task),
        )


def _starving(session: Session) -> Iterator[Gang]:
    for gang in session.own:
        if gang.phase is not Phase.PENDING and session.invalid(gang) is None and session.starving(gang):
            yield gang


def _lower(gang: Gang) -> Eligible:
    return lambda victim: victim.gang.queue == gang.queue and victim.gang.priority < gang.priority
