"""Making room by eviction: the part that preempt and reclaim share.

Bounded by construction: nodes are tried best first and the first that works is taken; on a node each candidate is
looked at once, and no more of them go than are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from podium.core.model import HOLDING, Queue, State, Task
from podium.core.session import Session
from podium.core.statement import Statement

Eligible = Callable[[Task], bool]
Filter = Callable[[Task, Sequence[Task]], list[Task]]


def make_room(
    session: Session,
    statement: Statement,
    task: Task,
    eligible: Eligible,
    agree: Filter,
    why: str,
) -> bool:
    """Evicts what is needed for one task on the best node where that works, and promises it the place.

    The limits of the queue are looked at after each eviction: what leaves may be what filled it, or one above it.
    """
    queue = session.queues[task.gang.queue]
    candidates = session.candidates(task)
    order = _victim_key(session, queue)
    if session.allocatable(queue, task) is None:
        free = candidates.choose_later(task)
        if free is not None:
            statement.pipeline(task, free)
            return True
    for row in _possible_rows(session, task):
        mark = statement.checkpoint()
        victims = _victims(session, task, row, eligible, agree, order)
        for victim in sorted(victims, key=order):
            statement.evict(victim, why)
            if (
                session.cluster.nodes.fits_row(task.cls.request, row, future=True)
                and session.allocatable(queue, task) is None
            ):
                candidates.refresh()
                if candidates.fits(task, row, future=True):
                    statement.pipeline(task, row)
                    return True
        statement.rollback(mark)
    return False


def _possible_rows(session: Session, task: Task) -> list[int]:
    """Rows whose properties suit the task, best first; room is what is being made."""
    nodes = session.cluster.nodes
    candidates = session.candidates(task)
    ranks = nodes.order()
    rows = [row for row in range(nodes.count) if candidates.static[row]]
    scores = candidates.suitability
    return sorted(rows, key=lambda row: (-scores[row], ranks[row]))


def _victims(
    session: Session, task: Task, row: int, eligible: Eligible, agree: Filter, order: Callable[[Task], Any]
) -> list[Task]:
    """Who may go.  Plugins count down what an owner has to spare, so they are shown who would go first, first."""
    found = [
        each
        for each in session.cluster.on_row.get(row, {}).values()
        if each.state in HOLDING
        and each.state is not State.ALLOCATED
        and each.preemptable
        and eligible(each)
        and (each.best_effort or not task.best_effort)
    ]
    found.sort(key=order)
    return agree(task, found) if found else []


def _victim_key(session: Session, preemptor: Queue) -> Callable[[Task], Any]:
    """Who goes first: by queue, then the gang that would be served last, then the task that would be."""

    def compare(left: Task, right: Task) -> int:
        result: float = 0
        if left.gang.queue != right.gang.queue:
            first, second = session.queues.get(left.gang.queue), session.queues.get(right.gang.queue)
            if first is not None and second is not None:
                result = session.victim_queue_compare(first, second, preemptor)
        if not result and left.gang is not right.gang:
            result = -session.job_compare(left.gang, right.gang)
        if not result:
            result = -session.task_compare(left, right)
        return (result > 0) - (result < 0)

    return cmp_to_key(compare)
