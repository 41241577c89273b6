"""takeback: gangs that find no room on the nodes of their own queue push out whom they may.

Who may have to go from such a node:

    borrowers     tasks of other queues, whatever their priority
    lower ones    tasks of the same queue with a lower priority than the task that comes

A gang comes for what it needs, all or nothing, and then for each further member: none of the queue's own waits
while a borrower has its room.

Everybody who may go is thought away first; if the task then fits, they are given back one by one: first those
under a disruption budget that is used up, then the queue's own before borrowers, and the most important first.  Of
the nodes the one is taken with, in turn,

    the fewest broken disruption budgets, the lowest highest priority of a victim, the lowest sum of priorities,
    the fewest victims, the most important victim that started last, the first name.

Here a borrower counts with the lowest priority there is.  A member of a gang goes alone if the gang can spare it;
otherwise the gang goes whole, one of the queue's own only if all of it is lower.  Borrowers go at once, or within
the grace period that the profile gives them.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from podium.core.actions.portions import chosen, in_order, may_be_placed
from podium.core.actions.victims import EVICTABLE, fits, take_free
from podium.core.cluster.ownership import Mask
from podium.core.framework.action import Action
from podium.core.framework.arguments import Argument
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.model import HOLDING, Gang, State, Task

GRACE = Argument("graceSeconds", "", "within how many seconds borrowers leave; without it their own grace period")
MOST_NODES = Argument("maxCandidateNodesAbsolute", 100, "the most nodes that are compared for one task")

_LOWEST = -(1 << 31)  # the priority with which borrowers count

Unit = tuple[Task, ...]  # tasks that go together


class TakeBack(Action):
    """Makes room at home, for each gang that is whole with it."""

    name = "takeback"
    ARGUMENTS = (GRACE, MOST_NODES)

    def run(self, session: Session) -> Iterator[None]:
        arguments = session.arguments(self.name)
        grace = arguments.text(GRACE.name)
        self._grace = int(float(grace)) if grace else None
        self._most = max(1, arguments.integer(MOST_NODES.name))
        victims: dict[str, HomeVictims] = {}
        failed: dict[Hashable, int] = {}  # by kind and priority: how many places could not be had together
        waiting = yield from chosen(session.own, partial(_may_take_back, session))
        for gang in (yield from in_order(session, waiting)):
            found = victims.get(gang.queue)
            if found is None:
                found = victims[gang.queue] = HomeVictims(session, gang.queue)
            if found.concern(gang):
                session.attempt(gang, partial(self._take_back, session, gang, found, failed), None)
                found.recount()
                yield

    def _take_back(self, session: Session, gang: Gang, victims: HomeVictims, failed: dict[Hashable, int]) -> None:
        waiting = (task for task in gang.tasks.values() if task.state is State.PENDING and not task.gated)
        wanted = session.sorted_tasks(task for task in waiting if task.preempts)
        if not wanted:
            return
        missing = quorum.to_place(gang, quorum.PROMISED)
        kinds = [(session.signature(task), task.priority) for task in wanted]
        if failed.get(kinds[0], missing + 1) <= missing:
            return  # room only shrinks in a turn: what was not to be had then is not now
        statement = session.statement()
        without: set[Hashable] = set()  # kinds of which no further one is to be had
        for task, kind in zip(wanted, kinds, strict=True):
            if kind not in without and not self._make_room(session, statement, task, victims):
                without.add(kind)
        if statement.evicts and session.pipelined(gang):
            statement.commit()
            return
        statement.rollback()
        if len(set(kinds)) == 1:
            failed[kinds[0]] = missing

    def _make_room(self, session: Session, statement: Statement, task: Task, victims: HomeVictims) -> bool:
        """Evicts what is needed for one task where least is lost, and promises it the place."""
        if take_free(session, statement, task):
            return True
        ranks = session.cluster.nodes.order()
        found: list[tuple[tuple[float, ...], int, list[Unit]]] = []
        for row in victims.rows(task, self._most):
            units = self._needed(session, task, row, victims)
            if units:
                heapq.heappush(found, ((*victims.loss(units), float(ranks[row])), row, units))
        gang = task.gang
        while found:
            _, row, units = heapq.heappop(found)
            mark = statement.checkpoint()
            for victim in (each for unit in units for each in unit):
                guest = victims.borrows(victim)
                why = "taken back" if guest else "preempted"
                grace = self._grace if guest else None
                statement.evict(victim, f"{why} for {gang.namespace}/{gang.name}", grace)
            if fits(session, task, row):
                statement.pipeline(task, row)
                victims.touch(each.row for unit in units for each in unit)
                return True
            statement.rollback(mark)
        return False

    def _needed(self, session: Session, task: Task, row: int, victims: HomeVictims) -> list[Unit] | None:
        """Who has to go from a row for a task; single tasks if that is enough, else with whole gangs."""
        by_sums = session.candidates(task, refresh=False).room_only
        for whole in (False, True):
            units = victims.units(task, row, whole=whole)
            if units is None:
                break
            needed = _by_sums(session, task, row, units) if by_sums else _by_trial(session, task, row, units)
            if needed:
                return needed
        return None


class HomeVictims:
    """Who may have to leave the nodes of a queue, by row, and what each row would gain."""

    def __init__(self, session: Session, queue: str) -> None:
        self._session = session
        self._queue = queue
        self._by_row: dict[int, list[Task]] = {}
        self._gains: dict[int, NDArray[np.int64]] = {}  # by priority; `_LOWEST`: of borrowers alone
        self._touched: set[int] = set()
        self._least = float("inf")  # the priority of the least important task of the queue's own
        self._guests = False
        on_row, borrows = session.cluster.on_row, session.ownership.borrows
        for row in np.flatnonzero(session.ownership.home(queue)).tolist():
            found = [
                each
                for each in on_row.get(row, {}).values()
                if each.preemptable and each.state in EVICTABLE and session.may_evict(each)
            ]
            if found:
                self._by_row[row] = found
                for each in found:
                    if borrows(each):
                        self._guests = True
                    else:
                        self._least = min(self._least, each.priority)

    def borrows(self, task: Task) -> bool:
        return self._session.ownership.borrows(task)

    def concern(self, gang: Gang) -> bool:
        """Whether there is anybody who may have to go for a gang."""
        if self._guests:
            return True
        return any(each.priority > self._least for each in gang.tasks.values() if each.state is State.PENDING)

    def touch(self, rows: Iterator[int]) -> None:
        """Somebody is being evicted from these rows."""
        self._touched.update(rows)
        for row in self._touched & self._by_row.keys():
            for priority, gains in self._gains.items():
                self._sum(row, priority, gains)

    def recount(self) -> None:
        """A gang is done with: what it was tried with stands, or has been taken back."""
        if self._touched:
            self.touch(iter(()))
            self._touched.clear()

    def _sum(self, row: int, priority: int, gains: NDArray[np.int64]) -> None:
        gains[row] = 0
        for task in self._by_row[row]:
            if task.state in EVICTABLE and (task.priority < priority or self.borrows(task)):
                for column, amount in task.cls.request.pairs:
                    gains[row, column] += amount

    def _gain(self, priority: int) -> NDArray[np.int64]:
        found = self._gains.get(priority)
        if found is None:
            nodes = self._session.cluster.nodes
            found = self._gains[priority] = np.zeros((nodes.count, nodes.dimensions.width), dtype=np.int64)
            for row in self._by_row:
                self._sum(row, priority, found)
        return found

    def rows(self, task: Task, most: int) -> list[int]:
        """Rows where room could be made for a task: those first where it is enough that borrowers leave."""
        nodes, candidates = self._session.cluster.nodes, self._session.candidates(task)
        columns, amounts = task.cls.columns, task.cls.amounts
        idle = nodes.future_idle(columns)
        possible = candidates.static & ((idle + self._gain(task.priority)[:, columns]) >= amounts).all(axis=1)
        guests: Mask = np.all(idle + self._gain(_LOWEST)[:, columns] >= amounts, axis=1)
        rows = np.flatnonzero(possible)
        order = np.lexsort((nodes.order()[rows], -candidates.suitability[rows], ~guests[rows]))
        return [row for row in rows[order].tolist() if row in self._by_row][:most]

    def units(self, task: Task, row: int, *, whole: bool) -> list[Unit] | None:
        """Who may go from a row, who goes first first; None when whole gangs make no difference."""
        borrows = self.borrows
        eligible = [
            each
            for each in self._by_row[row]
            if each.state in EVICTABLE
            and each.gang is not task.gang
            and (each.priority < task.priority or borrows(each))
        ]
        eligible.sort(key=lambda each: (not borrows(each), each.priority, -each.started, each.name, each.id))
        spare, alone, bound = quorum.Spare(), list[Task](), dict[str, Gang]()
        for each in eligible:
            if spare.take(each):
                alone.append(each)
            else:
                bound[each.gang.id] = each.gang
        if whole and not bound:
            return None
        units: list[Unit] = [(each,) for each in alone if not whole or each.gang.id not in bound]
        if whole:
            units += (unit for gang in bound.values() if (unit := self._all_of(gang, task, row)))
        tasks = [each for unit in units for each in unit]
        agreed = {each.id for each in self._session.preemptable(task, tasks, whole=True)}
        units = [unit for unit in units if all(each.id in agreed for each in unit)]
        broken = self._session.budgets.broken_by(tasks) if self._session.budgets else set()
        return sorted(units, key=lambda unit: (any(each.id in broken for each in unit), *self._rank(unit)))

    def _rank(self, unit: Unit) -> tuple[int, float]:
        return max(map(self._priority, unit)), -min(each.started for each in unit)

    def _priority(self, task: Task) -> int:
        return _LOWEST if self.borrows(task) else task.priority

    def _all_of(self, gang: Gang, task: Task, row: int) -> Unit:
        """All that a gang holds, if all of it can go: guests on that row for anybody, others for a task before all
        of them."""
        guests = not self._session.ownership.home(gang.queue)[row]
        held = [each for each in gang.tasks.values() if each.state in HOLDING]
        can = all(
            each.preemptable
            and each.state in EVICTABLE
            and self._session.may_evict(each)
            and (guests or each.priority < task.priority)
            for each in held
        )
        return tuple(held) if can else ()

    def loss(self, units: Sequence[Unit]) -> tuple[float, ...]:
        victims = [each for unit in units for each in unit]
        priorities = [self._priority(each) for each in victims]
        highest = max(priorities)
        started = min(
            each.started for each, priority in zip(victims, priorities, strict=True) if priority == highest
        )
        broken = len(self._session.budgets.broken_by(victims)) if self._session.budgets else 0
        # Counted from the lowest priority there is, so that nobody makes a sum smaller.
        return broken, highest, sum(each - _LOWEST for each in priorities), len(victims), -started


def _by_sums(session: Session, task: Task, row: int, units: Sequence[Unit]) -> list[Unit]:
    """Who has to go, where room is all that counts; nobody when nothing helps."""
    nodes = session.cluster.nodes
    gains = [
        {
            column: sum(each.cls.request.amount(column) for each in unit if each.row == row)
            for column in task.cls.columns
        }
        for unit in units
    ]
    spare = {
        column: nodes.future_idle_of(row, column) - amount + sum(each[column] for each in gains)
        for column, amount in task.cls.request.pairs
    }
    if any(amount < 0 for amount in spare.values()):
        return []
    needed = []
    for unit, gain in zip(reversed(units), reversed(gains), strict=True):
        if all(spare[column] >= amount for column, amount in gain.items()):
            spare = {column: spare[column] - amount for column, amount in gain.items()}
        else:
            needed.append(unit)
    return needed[::-1]


def _by_trial(session: Session, task: Task, row: int, units: Sequence[Unit]) -> list[Unit]:
    """The same by trying, where other filters look at who is there."""
    trial, needed = session.statement(), list[Unit]()
    states = {each.id: each.state for unit in units for each in unit}
    for unit in units:
        for each in unit:
            trial.evict(each, "")
    if units and fits(session, task, row):
        for unit in reversed(units):
            for each in unit:
                trial.spare(each, states[each.id])
            if not fits(session, task, row):
                for each in unit:
                    trial.evict(each, "")
                needed.append(unit)
    trial.rollback()
    return needed[::-1]


def _may_take_back(session: Session, gang: Gang) -> bool:
    waits = gang.counts[State.PENDING] and may_be_placed(session, gang)
    return bool(waits and session.queues[gang.queue].preempts)
