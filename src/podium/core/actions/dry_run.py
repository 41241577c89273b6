"""Preemption by dry run: try several nodes, spare whom one can, and take the node where least is lost.

On each node everybody who may go is taken away first; if the task then fits, they are given back one by one, the
most important first, as long as it still does.  Filters that look at neighbours (affinity, spread) thereby name
their victims, which eviction in a fixed order would miss.  Of the nodes tried the one is taken with, in turn,

    the fewest broken disruption budgets, the lowest highest priority of a victim, the lowest sum of priorities,
    the fewest victims, the most important victim that started last, the first name.
"""

from __future__ import annotations

import heapq
from typing import ClassVar

import msgspec

from podium.core.actions.victims import Filter, VictimIndex, fits, take_free
from podium.core.framework.arguments import Argument, Arguments
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model.model import Task


class Search(msgspec.Struct, frozen=True):
    """How many nodes are tried before the best of them is taken."""

    ARGUMENTS: ClassVar[tuple[Argument, ...]] = (
        Argument("minCandidateNodesPercentage", 10, "how many per cent of the nodes are tried by dry run"),
        Argument("minCandidateNodesAbsolute", 1, "the same as a number, where that is more"),
        Argument("maxCandidateNodesAbsolute", 100, "the most that are tried in any case"),
    )

    percentage: int
    at_least: int
    at_most: int

    @classmethod
    def of(cls, arguments: Arguments) -> Search:
        return cls(
            arguments.integer("minCandidateNodesPercentage"),
            arguments.integer("minCandidateNodesAbsolute"),
            arguments.integer("maxCandidateNodesAbsolute"),
        )

    def count(self, nodes: int) -> int:
        return max(1, min(max(nodes * self.percentage // 100, self.at_least), self.at_most))


def make_room_by_dry_run(
    session: Session,
    statement: Statement,
    task: Task,
    victim_index: VictimIndex,
    agree: Filter,
    why: str,
    search: Search,
) -> bool:
    """Evicts what is needed for one task where least is lost, and promises it the place."""
    if take_free(session, statement, task):
        return True
    # Where only room counts, sums show who is needed.  They know nothing of the queue's limits, so their answer is
    # put to the test when it is about to be taken, and found out by trial if it fails.
    by_sums = session.candidates(task, refresh=False).room_only
    ranks = session.cluster.nodes.order()
    found: list[tuple[tuple[float, ...], int, list[Task]]] = []
    wanted = search.count(len(session.cluster.nodes))
    for row in victim_index.rows(task):
        victims = victim_index.of(task, row, agree)
        needed = _needed_for_room(session, task, row, victims) if by_sums else []
        if needed is not None and not needed:
            needed = _needed(session, task, row, victims)
        if needed:
            found.append(((*_loss(session, needed), float(ranks[row])), row, needed))
            if len(found) == wanted:
                break
    heapq.heapify(found)
    tried: set[int] = set()
    while found:
        loss, row, victims = heapq.heappop(found)
        mark = statement.checkpoint()
        for victim in victims:
            statement.evict(victim, why)
        if fits(session, task, row):
            statement.pipeline(task, row)
            victim_index.recount(row)
            return True
        statement.rollback(mark)
        needed = None if row in tried else _needed(session, task, row, victim_index.of(task, row, agree))
        tried.add(row)
        if needed:
            heapq.heappush(found, ((*_loss(session, needed), loss[-1]), row, needed))
    return False


def _needed(session: Session, task: Task, row: int, victims: list[Task]) -> list[Task] | None:
    """Who has to go from a row for a task, as few as the order of importance allows; None when nothing helps."""
    trial = session.statement()
    states = {victim.id: victim.state for victim in victims}
    for victim in victims:
        trial.evict(victim, "")
    needed: list[Task] | None = None
    if victims and fits(session, task, row):
        needed = []
        # Those under a used-up budget are at the end of the victims, so they are the first to be spared.
        for victim in reversed(victims):
            trial.spare(victim, states[victim.id])
            if not fits(session, task, row):
                trial.evict(victim, "")
                needed.append(victim)
        needed.reverse()
    trial.rollback()
    return needed


def _needed_for_room(session: Session, task: Task, row: int, victims: list[Task]) -> list[Task] | None:
    """The same by sums, where room is all that counts.  Nobody when there is room: then the queue is full."""
    nodes = session.cluster.nodes
    spare = {
        column: nodes.future_idle_of(row, column)
        - amount
        + sum(each.cls.request.amount(column) for each in victims)
        for column, amount in task.cls.request.pairs
    }
    if any(amount < 0 for amount in spare.values()):
        return None
    needed = []
    for victim in reversed(victims):
        taken = {column: victim.cls.request.amount(column) for column in spare}
        if all(spare[column] >= amount for column, amount in taken.items()):
            spare = {column: spare[column] - amount for column, amount in taken.items()}
        else:
            needed.append(victim)
    needed.reverse()
    return needed


def _loss(session: Session, victims: list[Task]) -> tuple[float, ...]:
    highest = max(victim.priority for victim in victims)
    started = min(victim.started for victim in victims if victim.priority == highest)
    broken = session.budgets.broken_by(victims)
    return (len(broken), highest, sum(victim.priority for victim in victims), len(victims), -started)
