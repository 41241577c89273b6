"""backfill: tasks that ask for no resources need only a node that takes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.actions.common import KEEP_ANSWERS
from podium.core.actions.portions import chosen, in_order
from podium.core.framework.action import Action
from podium.core.framework.diagnosis import diagnose
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Phase, State, Task


class Backfill(Action):
    """Places best-effort tasks of gangs that are whole with them, each on its own: they wait for nobody's room."""

    name = "backfill"
    PEACEFUL = True
    ARGUMENTS = (KEEP_ANSWERS,)

    def run(self, session: Session) -> Iterator[None]:
        session.keep_answers = session.arguments(self.name).flag(KEEP_ANSWERS.name)
        found = yield from chosen(session.own, _has_waiting)
        for gang in (yield from in_order(session, found)):
            session.attempt(gang, partial(self._place, session, gang), None)
            yield

    def _place(self, session: Session, gang: Gang) -> None:
        waiting = list(_waiting(gang))
        if session.invalid(gang) is not None or not session.ready(gang):
            return  # the rest of a gang that cannot start yet waits with it
        queue = session.queues[gang.queue]
        for task in session.sorted_tasks(waiting):
            refusal = session.allocatable(queue, task)
            if refusal is not None:
                session.refuse(gang, refusal, task)
                continue
            rows = session.candidates(task).choose([task])
            if not rows:
                session.refuse(gang, diagnose(session, task), task)
                continue
            statement = session.statement()
            statement.place([task], rows)
            statement.commit()


def _has_waiting(gang: Gang) -> bool:
    return gang.phase is not Phase.PENDING and any(_waiting(gang))


def _waiting(gang: Gang) -> Iterator[Task]:
    for task in gang.tasks.values() if gang.counts[State.PENDING] else ():
        if task.state is State.PENDING and task.best_effort and not task.gated:
            yield task
