"""Victims by the gang: what can be taken from each without harm, and the whole of it.

Evicting single tasks of a gang that needs all of them wastes the rest.  So victims come in bundles:

    safe    what a gang has beyond its minimum
    whole   all that it holds, for gangs that would rather start again later than limp

Bundles are taken in order until the preemptor's summed need could fit and then does: safe ones first, then from
the gang that would be served last, then with the best return: how much of the need a bundle covers for how much
work is lost; then the youngest, and of equally old ones those of one node after the other.  A gang that turns out
not to be needed is spared again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.actions.common import WHOLE_BUNDLES
from podium.core.actions.victims import Eligible, VictimIndex
from podium.core.framework.arguments import Arguments
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.model import HOLDING, Gang, State, Task

Amounts = NDArray[np.float64]
Agree = Callable[[Task, Sequence[Task], bool], list[Task]]  # the last: whole gangs, no parts of them

_NOT_SPARED_BEYOND = 32  # so many bundles are looked at again; each costs a placement of the whole gang


class Bundle(msgspec.Struct, frozen=True):
    """Tasks of one gang that go together."""

    gang: Gang
    tasks: tuple[Task, ...]
    safe: bool
    gain: float  # the need it covers for the work that is lost
    node: int  # the first of its nodes, in the order of names


def displace(
    session: Session,
    gang: Gang,
    eligible: Eligible,
    arguments: Arguments,
    agree: Agree,
    why: str,
    allowed: Callable[[Task], bool],
) -> bool:
    """Makes room for a gang's minimum by whole bundles; keeps everything or nothing.

    Most gangs that wait ask in vain, turn after turn, so what cannot be is seen before anything is tried: that the
    gang is not entitled to so much as things stand, and that all victims together would not leave enough room.
    """
    wanted = _wanted(session, gang)
    missing = quorum.to_place(gang, quorum.PROMISED)
    if not wanted or len(list(islice(filter(allowed, wanted), missing))) < missing:
        return False
    statement = session.statement()
    if _place(session, statement, gang, wanted, allowed):
        statement.rollback()  # there is room: allocate's matter
        return False
    statement.rollback()
    need = _sum(session, wanted[:missing])
    whole = arguments.flag(WHOLE_BUNDLES.name)
    victim_index = VictimIndex(session, eligible, arguments, whole=whole)
    bundles = _bundles(session, wanted[0], victim_index, agree, need, whole=whole)
    if not _could_fit(session, need - _sum(session, (task for each in bundles for task in each.tasks))):
        return False
    chosen: list[Bundle] = []
    for bundle in bundles:
        _evict(statement, [bundle], why)
        chosen.append(bundle)
        if _could_fit(session, need):
            mark = statement.checkpoint()
            if _place(session, statement, gang, wanted, allowed):
                statement.rollback()
                _replay(session, statement, gang, wanted, allowed, chosen, why)
                statement.commit()
                return True
            statement.rollback(mark)
    statement.rollback()
    return False


def _replay(
    session: Session,
    statement: Statement,
    gang: Gang,
    wanted: Sequence[Task],
    allowed: Callable[[Task], bool],
    chosen: list[Bundle],
    why: str,
) -> None:
    """Does it again without the gangs that are not needed after all; the last one always is."""
    for bundle in chosen[:-1][:_NOT_SPARED_BEYOND]:
        fewer = [each for each in chosen if each is not bundle]
        _evict(statement, fewer, why)
        if _place(session, statement, gang, wanted, allowed):
            chosen = fewer
        statement.rollback()
    _evict(statement, chosen, why)
    _place(session, statement, gang, wanted, allowed)


def _wanted(session: Session, gang: Gang) -> list[Task]:
    """The tasks that the gang needs to be whole, in order; none when one of them may not push others out."""
    waiting = session.sorted_tasks(
        task for task in gang.tasks.values() if task.state is State.PENDING and not task.gated
    )
    usable = [task for task in waiting if task.preempts and not task.best_effort]
    return usable if len(usable) >= quorum.to_place(gang, quorum.PROMISED) else []


def _place(
    session: Session, statement: Statement, gang: Gang, wanted: Iterable[Task], allowed: Callable[[Task], bool]
) -> bool:
    """Promises places until the gang is whole."""
    queue = session.queues[gang.queue]
    for task in wanted:
        if not session.starving(gang) and session.pipelined(gang):
            break
        if not allowed(task) or session.allocatable(queue, task) is not None:
            continue
        row = session.candidates(task).choose_later(task)
        if row is not None:
            statement.pipeline(task, row)
    return quorum.missing(gang, quorum.PROMISED) <= 0 and session.pipelined(gang)


def _evict(statement: Statement, bundles: Iterable[Bundle], why: str) -> None:
    for bundle in bundles:
        for task in bundle.tasks:
            if task.state is not State.RELEASING:  # the safe part of a whole gang may have gone before
                statement.evict(task, why)


def _bundles(
    session: Session, preemptor: Task, victim_index: VictimIndex, agree: Agree, need: Amounts, *, whole: bool
) -> list[Bundle]:
    by_gang: dict[str, list[Task]] = {}
    for tasks in victim_index.by_row.values():
        for task in tasks:
            by_gang.setdefault(task.gang.id, []).append(task)
    found = []
    for tasks in by_gang.values():
        gang = tasks[0].gang
        ordered = sorted(tasks, key=session.task_key, reverse=True)
        safe = agree(preemptor, quorum.beyond_minimum(ordered), False)
        if safe:
            found.append(_bundle(session, gang, safe, need, safe=True))
        if whole and len(tasks) == gang.count(HOLDING) and len(safe) < len(tasks):
            all_of_it = agree(preemptor, ordered, True)
            if len(all_of_it) == len(tasks):
                found.append(_bundle(session, gang, all_of_it, need, safe=False))
    queue = session.queues[preemptor.gang.queue]

    def compare(left: Bundle, right: Bundle) -> float:
        if left.safe != right.safe:
            return int(right.safe) - int(left.safe)
        if left.gang.queue != right.gang.queue:
            owners = session.queues[left.gang.queue], session.queues[right.gang.queue]
            return session.victim_queue_compare(*owners, queue)
        return (
            -session.job_preference(left.gang, right.gang)
            or right.gain - left.gain
            or right.gang.created - left.gang.created
            or left.node - right.node  # few nodes are disturbed
            or -session.job_compare(left.gang, right.gang)
        )

    def sign(left: Bundle, right: Bundle) -> int:
        result = compare(left, right)
        return (result > 0) - (result < 0)

    return sorted(found, key=cmp_to_key(sign))


def _bundle(session: Session, gang: Gang, tasks: Sequence[Task], need: Amounts, *, safe: bool) -> Bundle:
    asked = need > 0
    freed = _sum(session, tasks)[asked]
    lost = _sum(session, (task for task in gang.tasks.values() if task.state in HOLDING))[asked]
    cost = float((lost / need[asked]).sum())
    gain = float((np.minimum(freed, need[asked]) / need[asked]).sum()) / cost if cost else 0.0
    nodes = session.cluster.nodes.order()
    return Bundle(gang, tuple(tasks), safe, gain, min(int(nodes[task.row]) for task in tasks))


def _sum(session: Session, tasks: Iterable[Task]) -> Amounts:
    total: Amounts = np.zeros(session.cluster.dimensions.width)
    for task in tasks:
        for column, amount in task.cls.request.pairs:
            total[column] += amount
    return total


def _could_fit(session: Session, need: Amounts) -> bool:
    """Whether the room of all nodes together would do: placing the whole gang is only tried when it would."""
    nodes = session.cluster.nodes
    room = np.maximum(nodes.future_idle(), 0)[nodes.live[: nodes.count]].sum(axis=0)[: len(need)]
    return bool(np.all(room >= need))
