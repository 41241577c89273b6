"""backfill: tasks that ask for no resources need only a node that takes them."""

from __future__ import annotations

from podium.core.action import Action
from podium.core.diagnosis import diagnose
from podium.core.model import Phase, State
from podium.core.session import Session


class Backfill(Action):
    """Places best-effort tasks of gangs that are whole with them, each on its own: they wait for nobody's room."""

    name = "backfill"

    def run(self, session: Session) -> None:
        session.keep_answers = session.arguments(self.name).flag("predicateErrorCacheEnable", True)
        for gang in sorted(session.own, key=session.job_key):
            if gang.phase is Phase.PENDING or session.invalid(gang) is not None or not session.ready(gang):
                continue  # the rest of a gang that cannot start yet waits with it
            waiting = [
                task
                for task in gang.tasks.values()
                if task.state is State.PENDING and task.best_effort and not task.gated
            ]
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
