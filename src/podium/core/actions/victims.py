"""Making room by eviction: the part that preempt and reclaim share.

Bounded by construction.  Who may go at all is looked up once for a gang, and summed by row: rows on which even all
of them would not make room are never visited.  The others are tried best first and the first that works is taken;
on a row each candidate is looked at once, and no more of them go than are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.core.actions.common import MIN_RUNTIME
from podium.core.framework.arguments import Arguments
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model.durations import duration
from podium.core.model.model import Gang, State, Task

Eligible = Callable[[Task], bool]
Filter = Callable[[Task, Sequence[Task]], list[Task]]

# Whose bind has not been answered yet is nobody's victim: nobody knows whether there is anything to evict.
EVICTABLE = frozenset({State.BOUND, State.RUNNING})


class VictimIndex:
    """Who may have to go for a gang, by row, and what each row would gain if all of them went."""

    def __init__(self, session: Session, eligible: Eligible, arguments: Arguments, *, whole: bool = False) -> None:
        """`whole`: gangs are taken whole here, so those that go as one may go."""
        self._session = session
        protected = duration(arguments.text(MIN_RUNTIME.name))
        latest = session.now - protected if protected is not None else math.inf
        self.by_row: dict[int, list[Task]] = {}
        for row, tasks in session.cluster.on_row.items():
            found = [
                task
                for task in tasks.values()
                if task.preemptable
                and task.state in EVICTABLE
                and task.started <= latest
                and (whole or not task.gang.as_one)
                and session.may_evict(task)
                and eligible(task)
            ]
            if found:
                self.by_row[row] = found
        nodes = session.cluster.nodes
        self._gains: NDArray[np.int64] = np.zeros((nodes.count, nodes.dimensions.width), dtype=np.int64)
        for row in self.by_row:
            self.recount(row)

    def recount(self, row: int) -> None:
        """Takes in that some of a row have been evicted."""
        self.by_row[row] = [task for task in self.by_row[row] if task.state in EVICTABLE]
        self._gains[row] = 0
        for task in self.by_row[row]:
            for column, amount in task.cls.request.pairs:
                self._gains[row, column] += amount

    def rows(self, task: Task) -> list[int]:
        """Rows whose properties suit a task and where room could be made for it, best first."""
        nodes = self._session.cluster.nodes
        candidates = self._session.candidates(task)
        columns = task.cls.columns
        room = nodes.future_idle(columns) + self._gains[:, columns]
        possible = np.flatnonzero(candidates.static & (room >= task.cls.amounts).all(axis=1))
        order = np.lexsort((nodes.order()[possible], -candidates.suitability[possible]))
        return [row for row in possible[order].tolist() if row in self.by_row]

    def of(self, task: Task, row: int, agree: Filter) -> list[Task]:
        """Who goes from a row, first first.

        Plugins count down what an owner has to spare, so they are shown who would go first, first.  Who is under
        a disruption budget that is used up goes last: budgets are broken only when nothing else helps.
        """
        found = [each for each in self.by_row[row] if each.best_effort or not task.best_effort]
        ordered = in_order(self._session, task, found)
        agreed = {each.id for each in agree(task, ordered)}
        victims = [each for each in ordered if each.id in agreed]
        if not self._session.budgets:
            return victims
        broken = self._session.budgets.broken_by(victims)
        return sorted(victims, key=lambda each: each.id in broken)

    def suffices(self, task: Task, row: int, victims: Sequence[Task]) -> bool:
        """Whether there would be room if all of them went."""
        nodes = self._session.cluster.nodes
        for column, amount in task.cls.request.pairs:
            gain = sum(victim.cls.request.amount(column) for victim in victims)
            if nodes.future_idle_of(row, column) + gain < amount:
                return False
        return True


class FailedAttempts:
    """Tasks for which nothing could be done: equal ones need not try as long as nothing has changed."""

    def __init__(self, session: Session, statement: Statement) -> None:
        self._session = session
        self._statement = statement
        self._last: tuple[Task, int] | None = None

    def note(self, task: Task) -> None:
        self._last = (task, self._statement.checkpoint())

    def covers(self, task: Task) -> bool:
        if self._last is None or not self._session.keep_answers:
            return False
        failed, mark = self._last
        return mark == self._statement.checkpoint() and self._session.same_signature(failed, task)


def make_room(
    session: Session, statement: Statement, task: Task, victim_index: VictimIndex, agree: Filter, why: str
) -> bool:
    """Evicts what is needed for one task on the best node where that works, and promises it the place.

    The limits of the queue are looked at after each eviction: what leaves may be what filled it, or one above it.
    """
    if take_free(session, statement, task):
        return True
    for row in victim_index.rows(task):
        victims = victim_index.of(task, row, agree)
        if not victims or not victim_index.suffices(task, row, victims):
            continue
        mark = statement.checkpoint()
        for victim in victims:
            statement.evict(victim, why)
            if fits(session, task, row):
                statement.pipeline(task, row)
                victim_index.recount(row)
                return True
        statement.rollback(mark)
    return False


def take_free(session: Session, statement: Statement, task: Task) -> bool:
    """Promises a task a place where nobody has to go, if there is one."""
    if not queue_allows(session, task):
        return False
    row = session.candidates(task).choose_later(task)
    if row is None:
        return False
    statement.pipeline(task, row)
    return True


def queue_allows(session: Session, task: Task) -> bool:
    return session.allocatable(session.queues[task.gang.queue], task) is None


def fits(session: Session, task: Task, row: int) -> bool:
    """Whether a task can be promised a row, after what has been evicted so far."""
    if not session.cluster.nodes.fits_row(task.cls.request, row, future=True):
        return False
    if not queue_allows(session, task):
        return False
    return session.candidates(task, refresh=False).fits(task, row, future=True)


def in_order(session: Session, task: Task, victims: Iterable[Task]) -> list[Task]:
    """Who goes first: by queue, then the gang that would be served last, then the task that would be."""
    preemptor = session.queues[task.gang.queue]
    by_queue: dict[str, list[Task]] = {}
    for victim in victims:
        by_queue.setdefault(victim.gang.queue, []).append(victim)
    queues = list(by_queue)
    if len(queues) > 1:

        def compare(left: str, right: str) -> int:
            result = session.victim_queue_compare(session.queues[left], session.queues[right], preemptor)
            return (result > 0) - (result < 0)

        queues.sort(key=cmp_to_key(compare))
    job_key, task_key = session.job_key, session.task_key
    gangs: dict[str, Any] = {}

    def key(victim: Task) -> tuple[Any, Any]:
        gang: Gang = victim.gang
        if gang.id not in gangs:
            gangs[gang.id] = job_key(gang)
        return gangs[gang.id], task_key(victim)

    return [victim for queue in queues for victim in sorted(by_queue[queue], key=key, reverse=True)]
