"""reclaim: between queues, what is lent beyond a queue's share is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.actions.common import KEEP_ANSWERS, MIN_RUNTIME
from podium.core.actions.gang_queue import GangQueue
from podium.core.actions.portions import chosen, is_starving
from podium.core.actions.victims import FailedAttempts, VictimIndex, make_room
from podium.core.framework.action import Action
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Queue, State, Task


class Reclaim(Action):
    """Lets the starving gangs of queues that are below their share take from queues that are above theirs."""

    name = "reclaim"
    ARGUMENTS = (KEEP_ANSWERS, MIN_RUNTIME)

    def run(self, session: Session) -> Iterator[None]:
        session.keep_answers = session.arguments(self.name).flag(KEEP_ANSWERS.name)
        gang_queue = GangQueue(session)
        yield from gang_queue.filling((yield from chosen(session.own, partial(is_starving, session))))
        while (queue := gang_queue.next_queue()) is not None:
            if session.overused(queue):
                gang_queue.drop_queue(queue)
                continue
            gang = gang_queue.pop(queue)
            session.attempt(gang, partial(self._reclaim, session, queue, gang), None)
            yield

    def _reclaim(self, session: Session, queue: Queue, gang: Gang) -> None:
        def eligible(victim: Task) -> bool:
            owner = session.queues.get(victim.gang.queue)
            lent = owner is not None and owner.id != queue.id and owner.reclaimable
            return lent and victim.state is State.RUNNING

        victim_index = VictimIndex(session, eligible, session.arguments(self.name))
        statement = session.statement()
        failed_attempts = FailedAttempts(session, statement)
        why = f"reclaimed by queue {queue.name}"
        waiting = [
            task
            for task in gang.tasks.values()
            if task.state is State.PENDING and task.preempts and not task.gated and not task.best_effort
        ]
        for task in session.sorted_tasks(waiting):
            if not session.starving(gang):
                break
            if failed_attempts.covers(task) or not session.preemptive(queue, task):
                continue
            if not make_room(session, statement, task, victim_index, session.reclaimable, why):
                failed_attempts.note(task)
        if statement.evicts and session.pipelined(gang):
            statement.commit()
        else:
            statement.rollback()
