"""borrow: gangs that find no room on the nodes of their own queue use what is idle on those of another.

A gang borrows whole, from one lender: the queue on whose idle room most copies of its first task fit, of equals
the one with fewer tasks, then by name.  Gangs of all queues compete by their order (priority, then age).

A queue lends what its own gangs have no use for: a node is kept from borrowers while a gang of the queue waits
that the node could serve, were it empty of what this profile may send away.  So nobody is placed to be sent away
soon, and a gang that can never be served there keeps nothing.

Who was promised a place at home stays there, and borrowers push out nobody.  Who may not be pushed out does not
borrow: what is lent can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from podium.core.actions.portions import chosen, in_order, may_be_placed
from podium.core.cluster.ownership import Loan, Mask
from podium.core.framework.action import Action
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.model import Gang, Mode, Queue, State, Task, TaskClass
from podium.core.model.resources import PODS

_WAITING_AT_MOST = 1000  # kinds of gangs of one lender that are looked at, before it is taken to need all it has


class Borrow(Action):
    """Finds places on the nodes of other queues."""

    name = "borrow"
    PEACEFUL = True

    def run(self, session: Session) -> Iterator[None]:
        lending = _Lending(session)
        waiting = yield from chosen(session.own, partial(_may_borrow, session))
        for gang in (yield from in_order(session, waiting)):
            session.attempt(gang, partial(_borrow, session, gang, lending), None)
            session.borrowing.pop(gang.id, None)
            yield


def _may_borrow(session: Session, gang: Gang) -> bool:
    """Whether a gang was promised nothing at home.  Those tied to others start with them, at home."""
    return bool(
        gang.counts[State.PENDING]
        and not gang.waiting
        and not gang.together
        and gang.mode is Mode.STRICT
        and session.queues[gang.queue].borrows
        and may_be_placed(session, gang)
        and all(task.preemptable for task in gang.tasks.values())
    )


def _borrow(session: Session, gang: Gang, lending: _Lending) -> None:
    tasks = session.sorted_tasks(_pending(gang))
    if not tasks:
        return
    queue = session.queues[gang.queue]
    if session.allocatable(queue, tasks[0]) is not None:
        return
    for loan in lending.offers(gang, tasks[0]):
        session.borrowing[gang.id] = loan
        statement = session.statement()
        _fill(session, queue, statement, tasks)
        if not statement.empty and session.ready(gang):
            statement.commit()
            return
        statement.rollback()


def _pending(gang: Gang) -> Iterator[Task]:
    return (task for task in gang.tasks.values() if task.state is State.PENDING and not task.gated)


def _fill(session: Session, queue: Queue, statement: Statement, tasks: Sequence[Task]) -> None:
    """Places as many as there is room for, equal ones together."""
    left = list(tasks)
    while left:
        first = left[0]
        batch = [task for task in left if task.role == first.role and session.same_signature(first, task)]
        candidates = session.candidates(first)
        if candidates.one_by_one:
            batch = [first]
        room = session.headroom(queue, batch)
        rows = candidates.choose(batch[:room]) if room else []
        if rows:
            statement.place(batch[: len(rows)], rows)
        placed = {task.id for task in batch[: len(rows)]} if rows else {task.id for task in batch}
        left = [task for task in left if task.id not in placed]


class _Lending:
    """What queues have to lend in a turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lenders: dict[str, list[Queue]] = {}
        self._loans: dict[str, Loan] = {}

    def offers(self, gang: Gang, task: Task) -> list[Loan]:
        """Where a gang may look for places, in the order in which it does."""
        session = self._session
        lenders = self._lenders.get(gang.queue)
        if lenders is None:
            lenders = self._lenders[gang.queue] = session.ownership.lenders(session.queues[gang.queue])
        found = []
        for lender in lenders:
            loan = self._loan(lender)
            copies = self._copies(gang, task, loan)
            if copies:
                found.append(((-copies, self._tasks(lender), lender.name, lender.id), loan))
        return [loan for _, loan in sorted(found, key=lambda each: each[0])]

    def _loan(self, lender: Queue) -> Loan:
        """The rows that a lender does not need itself."""
        found = self._loans.get(lender.id)
        if found is None:
            rows = self._session.ownership.owned(lender.id)
            found = self._loans[lender.id] = Loan(lender.id, rows & ~self._needed(lender, rows))
        return found

    def _copies(self, gang: Gang, task: Task, loan: Loan) -> int:
        """How many of a task would fit, one beside the other."""
        session, nodes = self._session, self._session.cluster.nodes
        if not np.any(nodes.fits(task.cls.request) & loan.rows):
            return 0
        session.borrowing[gang.id] = loan
        rows = session.candidates(task).static
        free = np.minimum(nodes.idle(task.cls.columns), nodes.future_idle(task.cls.columns))
        return _copies(free[rows], task.cls)

    def _tasks(self, lender: Queue) -> int:
        """How many tasks are on a lender's nodes or wait in its queue."""
        nodes, accounts = self._session.cluster.nodes, self._session.cluster.accounts
        account = accounts.queues.get(lender.id)
        waiting = account.waiting.get(PODS, 0) if account is not None else 0
        return waiting + int(nodes.used[: nodes.count, PODS][self._session.ownership.owned(lender.id)].sum())

    def _needed(self, lender: Queue, rows: Mask) -> Mask:
        """The rows that could serve a gang of the lender's own that waits."""
        needed: Mask = np.zeros(len(rows), dtype=bool)
        room: NDArray[np.int64] | None = None
        seen: set[tuple[TaskClass, int]] = set()
        for gang in self._waiting_in(lender):
            if room is None:
                room = self._emptied(rows)
            kinds = {task.cls: task for task in _pending(gang)}
            places = quorum.to_place(gang)
            for cls, task in kinds.items():
                if (cls, places) in seen:
                    continue
                seen.add((cls, places))
                fitting = rows & (room[:, cls.columns] >= cls.amounts).all(axis=1) & ~needed
                if not fitting.any():
                    continue
                fitting = rows & (room[:, cls.columns] >= cls.amounts).all(axis=1)
                fitting &= self._session.candidates(task, refresh=False).static
                if len(kinds) > 1 or _copies(room[fitting][:, cls.columns], cls) >= places:
                    needed |= fitting
            if len(seen) > _WAITING_AT_MOST or not np.any(rows & ~needed):
                return rows
        return needed

    def _waiting_in(self, queue: Queue) -> Iterator[Gang]:
        """The gangs of a queue that wait for a place in vain, also those that are not asked in this turn."""
        session = self._session
        for gang in session.cluster.accounts.active_in.get(queue.id, {}).values():
            if gang.counts[State.PENDING] and session.is_own(gang) and may_be_placed(session, gang):
                yield gang

    def _emptied(self, rows: Mask) -> NDArray[np.int64]:
        """The room of rows without what this profile may send away."""
        session, nodes = self._session, self._session.cluster.nodes
        room = nodes.idle()
        for row in np.flatnonzero(rows).tolist():
            for task in session.cluster.on_row.get(row, {}).values():
                if session.may_evict(task) and task.preemptable and task.state is not State.PIPELINED:
                    for column, amount in task.cls.request.pairs:
                        room[row, column] += amount
        return room


def _copies(free: NDArray[np.int64], cls: TaskClass) -> int:
    return int(np.maximum((free // cls.amounts).min(axis=1), 0).sum()) if len(free) else 0
