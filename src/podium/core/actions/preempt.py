"""preempt: within a queue, gangs that lack their minimum push out tasks that matter less."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.action import Action
from podium.core.actions.common import KEEP_ANSWERS, MIN_RUNTIME
from podium.core.actions.dry_run import Search, make_room_by_dry_run
from podium.core.actions.victims import InVain, Prey, make_room
from podium.core.arguments import Argument
from podium.core.model import Gang, Phase, State, Task
from podium.core.session import Session
from podium.core.statement import Statement


class Preempt(Action):
    """First between the gangs of a queue, each whole or not at all; then inside each gang, task by task."""

    name = "preempt"
    ARGUMENTS = (
        Argument(
            "enableTopologyAwarePreemption",
            False,
            "choose by dry run over several nodes, not the first one",
        ),
        *Search.ARGUMENTS,
        Argument(
            "topologyAwarePreemptWorkerNum",
            16,
            "how many nodes are tried at once",
            "a dry run is a few sums here: there is nothing to divide",
        ),
        KEEP_ANSWERS,
        MIN_RUNTIME,
    )

    def run(self, session: Session) -> Iterator[None]:
        self._arguments = session.arguments(self.name)
        session.keep_answers = self._arguments.flag(KEEP_ANSWERS.name)
        starving = [
            gang
            for gang in session.own
            if gang.phase is not Phase.PENDING and session.invalid(gang) is None and session.starving(gang)
        ]
        starving.sort(key=session.job_key)
        for gang in starving:
            session.attempt(gang, partial(self._between_gangs, session, gang), None)
            yield
        for gang in starving:
            session.attempt(gang, partial(self._inside, session, gang), None)
            yield

    def _between_gangs(self, session: Session, gang: Gang) -> None:
        preemptors = _preemptors(session, gang)
        if not preemptors:
            return
        prey = Prey(
            session,
            lambda victim: victim.gang.queue == gang.queue and victim.gang is not gang,
            self._arguments,
        )
        statement = session.statement()
        why = f"preempted for {gang.namespace}/{gang.name}"
        in_vain = InVain(session, statement)
        for task in preemptors:
            if not session.starving(gang):
                break
            if not in_vain.covers(task) and not self._make_room(session, statement, task, prey, why):
                in_vain.note(task)
        if statement.evicts and session.pipelined(gang):
            statement.commit()
        else:
            statement.rollback()

    def _inside(self, session: Session, gang: Gang) -> None:
        preemptors = _preemptors(session, gang)
        if not preemptors:
            return
        prey = Prey(session, lambda victim: victim.gang is gang, self._arguments)
        for task in preemptors:
            statement = session.statement()
            done = self._make_room(session, statement, task, prey, f"preempted for {task.namespace}/{task.name}")
            if not done:
                return
            if statement.evicts:
                statement.commit()
            else:
                statement.rollback()

    def _make_room(self, session: Session, statement: Statement, task: Task, prey: Prey, why: str) -> bool:
        if self._arguments.flag("enableTopologyAwarePreemption"):
            search = Search.of(self._arguments)
            return make_room_by_dry_run(session, statement, task, prey, session.preemptable, why, search)
        return make_room(session, statement, task, prey, session.preemptable, why)


def _preemptors(session: Session, gang: Gang) -> list[Task]:
    waiting = (
        task for task in gang.tasks.values() if task.state is State.PENDING and task.preempts and not task.gated
    )
    return session.sorted_tasks(waiting)
