"""reclaim: between queues, what is lent beyond a queue's share is taken back.

minRuntime  what has run for less than this is left alone
"""

from __future__ import annotations

from podium.core.action import Action
from podium.core.actions.line import Line
from podium.core.actions.victims import Prey, make_room
from podium.core.model import Gang, Phase, Queue, State, Task
from podium.core.session import Session


class Reclaim(Action):
    """Lets the starving gangs of queues that are below their share take from queues that are above theirs."""

    name = "reclaim"

    def run(self, session: Session) -> None:
        starving = (
            gang
            for gang in session.own
            if gang.phase is not Phase.PENDING and session.invalid(gang) is None and session.starving(gang)
        )
        line = Line(session, starving)
        while (queue := line.next_queue()) is not None:
            if session.overused(queue):
                line.drop_queue(queue)
                continue
            self._reclaim(session, queue, line.pop(queue))

    def _reclaim(self, session: Session, queue: Queue, gang: Gang) -> None:
        def eligible(victim: Task) -> bool:
            owner = session.queues.get(victim.gang.queue)
            return owner is not None and owner.id != queue.id and owner.reclaimable

        prey = Prey(session, eligible, session.arguments(self.name))
        statement = session.statement()
        waiting = [
            task
            for task in gang.tasks.values()
            if task.state is State.PENDING and task.preempts and not task.gated and not task.best_effort
        ]
        for task in session.sorted_tasks(waiting):
            if not session.starving(gang):
                break
            if session.preemptive(queue, task):
                why = f"reclaimed by queue {queue.name}"
                make_room(session, statement, task, prey, session.reclaimable, why)
        if statement.evicts and session.pipelined(gang):
            statement.commit()
        else:
            statement.rollback()
