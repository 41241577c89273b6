"""Preemption by dry run: try several nodes, spare whom one can, and take the node where least is lost.

On each node everybody who may go is taken away first; if the task then fits, they are given back one by one, the
most important first, as long as it still does.  Filters that look at neighbours (affinity, spread) thereby name
their victims, which eviction in a fixed order would miss.  Of the nodes tried the one is taken with, in turn,

    the fewest broken disruption budgets, the lowest highest priority of a victim, the lowest sum of priorities,
    the fewest victims, the most important victim that started last, the first name.
"""

from __future__ import annotations

import msgspec

from podium.core.actions.victims import Filter, Prey, fits, take_free
from podium.core.model import Task
from podium.core.plugin import Arguments
from podium.core.session import Session
from podium.core.statement import Statement


class Search(msgspec.Struct, frozen=True):
    """How many nodes are tried before the best of them is taken."""

    percentage: int = 10
    at_least: int = 1
    at_most: int = 100

    @classmethod
    def of(cls, arguments: Arguments) -> Search:
        return cls(
            arguments.integer("minCandidateNodesPercentage", 10),
            arguments.integer("minCandidateNodesAbsolute", 1),
            arguments.integer("maxCandidateNodesAbsolute", 100),
        )

    def count(self, nodes: int) -> int:
        return max(1, min(max(nodes * self.percentage // 100, self.at_least), self.at_most))


def make_room_by_dry_run(
    session: Session, statement: Statement, task: Task, prey: Prey, agree: Filter, why: str, search: Search
) -> bool:
    """Evicts what is needed for one task where least is lost, and promises it the place."""
    if take_free(session, statement, task):
        return True
    ranks = session.cluster.nodes.order()
    best: tuple[tuple[float, ...], int, list[Task]] | None = None
    wanted = search.count(len(session.cluster.nodes))
    for row in prey.rows(task):
        victims = _needed(session, task, row, prey.of(task, row, agree))
        if victims is None:
            continue
        loss = (*_loss(session, victims), float(ranks[row]))
        if best is None or loss < best[0]:
            best = (loss, row, victims)
        wanted -= 1
        if wanted == 0:
            break
    if best is None:
        return False
    _, row, victims = best
    for victim in victims:
        statement.evict(victim, why)
    statement.pipeline(task, row)
    prey.recount(row)
    return True


def _needed(session: Session, task: Task, row: int, victims: list[Task]) -> list[Task] | None:
    """Who has to go from a row for a task, as few as the order of importance allows; None when nothing helps."""
    if not victims:
        return None
    trial = session.statement()
    states = {victim.id: victim.state for victim in victims}
    for victim in victims:
        trial.evict(victim, "")
    needed: list[Task] | None = None
    if fits(session, task, row):
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


def _loss(session: Session, victims: list[Task]) -> tuple[float, ...]:
    if not victims:
        return (0, float("-inf"), 0, 0, 0)
    highest = max(victim.priority for victim in victims)
    started = min(victim.started for victim in victims if victim.priority == highest)
    broken = session.budgets.broken_by(victims)
    return (len(broken), highest, sum(victim.priority for victim in victims), len(victims), -started)
