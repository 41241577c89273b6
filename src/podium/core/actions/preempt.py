"""preempt: within a queue, gangs that lack their minimum push out tasks that matter less."""

from __future__ import annotations

from podium.core.action import Action
from podium.core.actions.victims import make_room
from podium.core.model import Gang, Phase, State, Task
from podium.core.session import Session


class Preempt(Action):
    """First between the gangs of a queue, each whole or not at all; then inside each gang, task by task."""

    name = "preempt"

    def run(self, session: Session) -> None:
        starving = [
            gang
            for gang in session.gangs
            if gang.phase is not Phase.PENDING and session.invalid(gang) is None and session.starving(gang)
        ]
        starving.sort(key=session.job_key)
        for gang in starving:
            self._between_gangs(session, gang)
        for gang in starving:
            self._inside(session, gang)

    def _between_gangs(self, session: Session, gang: Gang) -> None:
        statement = session.statement()
        for task in _preemptors(session, gang):
            if not session.starving(gang):
                break
            make_room(
                session,
                statement,
                task,
                lambda victim: victim.gang.queue == gang.queue and victim.gang is not gang,
                session.preemptable,
                f"preempted for {gang.namespace}/{gang.name}",
            )
        if statement.evicts and session.pipelined(gang):
            statement.commit()
        else:
            statement.rollback()

    def _inside(self, session: Session, gang: Gang) -> None:
        for task in _preemptors(session, gang):
            statement = session.statement()
            done = make_room(
                session,
                statement,
                task,
                lambda victim: victim.gang is gang,
                session.preemptable,
                f"preempted for {task.namespace}/{task.name}",
            )
            if not done:
                return
            if statement.evicts:
                statement.commit()
            else:
                statement.rollback()


def _preemptors(session: Session, gang: Gang) -> list[Task]:
    waiting = (
        task for task in gang.tasks.values() if task.state is State.PENDING and task.preempts and not task.gated
    )
    return session.sorted_tasks(waiting)
