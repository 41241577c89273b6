"""backfill: tasks that ask for no resources need only a node that takes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.actions.common import KEEP_ANSWERS
from podium.core.framework.action import Action
from podium.core.framework.diagnosis import diagnose
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Phase, State


class Backfill(Action):
    """Places best-effort tasks of gangs that are whole with them, each on its own: they wait for nobody's room."""

    name = "backfill"
    PEACEFUL = True
    ARGUMENTS = (KEEP_ANSWERS,)

    def run(self, session: Session) -> Iterator[None]:
        session.keep_answers = session.arguments(self.name).flag(KEEP_ANSWERS.name)
        for gang in sorted(session.own, key=session.job_key):
            if gang.phase is not Phase.PENDING:
                session.attempt(gang, partial(self._place, session, gang), None)
                yield

    def _place(self, session: Session, gang: Gang) -> None:
        waiting = [
            task
            for task in gang.tasks.values()
            if task.state is State.PENDING and task.best_effort and not task.gated
        ]
        if not waiting or session.invalid(gang) is not None or not session.ready(gang):
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
