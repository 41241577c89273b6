"""preempt: within a queue, gangs that lack their minimum push out tasks that matter less."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.actions.common import KEEP_ANSWERS, MIN_RUNTIME
from podium.core.actions.dry_run import Search, make_room_by_dry_run
from podium.core.actions.portions import chosen, in_order, is_starving
from podium.core.actions.victims import FailedAttempts, VictimIndex, make_room
from podium.core.framework.action import Action
from podium.core.framework.arguments import Argument
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model.model import Gang, State, Task


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
        starving = yield from in_order(session, (yield from chosen(session.own, partial(is_starving, session))))
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
        victim_index = VictimIndex(
            session,
            lambda victim: victim.gang.queue == gang.queue and victim.gang is not gang,
            self._arguments,
        )
        statement = session.statement()
        why = f"preempted for {gang.namespace}/{gang.name}"
        failed_attempts = FailedAttempts(session, statement)
        for task in preemptors:
            if not session.starving(gang):
                break
            if not failed_attempts.covers(task) and not self._make_room(
                session, statement, task, victim_index, why
            ):
                failed_attempts.note(task)
        if statement.evicts and session.pipelined(gang):
            statement.commit()
        else:
            statement.rollback()

    def _inside(self, session: Session, gang: Gang) -> None:
        preemptors = _preemptors(session, gang)
        if not preemptors:
            return
        victim_index = VictimIndex(session, lambda victim: victim.gang is gang, self._arguments)
        for task in preemptors:
            statement = session.statement()
            done = self._make_room(
                session, statement, task, victim_index, f"preempted for {task.namespace}/{task.name}"
            )
            if not done:
                return
            if statement.evicts:
                statement.commit()
            else:
                statement.rollback()

    def _make_room(
        self, session: Session, statement: Statement, task: Task, victim_index: VictimIndex, why: str
    ) -> bool:
        if self._arguments.flag("enableTopologyAwarePreemption"):
            search = Search.of(self._arguments)
            return make_room_by_dry_run(session, statement, task, victim_index, session.preemptable, why, search)
        return make_room(session, statement, task, victim_index, session.preemptable, why)


def _preemptors(session: Session, gang: Gang) -> list[Task]:
    waiting = (
        task for task in gang.tasks.values() if task.state is State.PENDING and task.preempts and not task.gated
    )
    return session.sorted_tasks(waiting)
