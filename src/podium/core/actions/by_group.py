"""Placing a gang that has sub-groups: group after group, each whole or not at all, until the gang is ready.

The groups that the gang's policies require go first.  A group that is whole and has more members goes back in
line, so that what is beyond its size competes with the other groups.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model.model import Gang, SubGroupPolicy, Task
from podium.core.model.subgroups import SubGroup
from podium.reasons import Refusal, both


class Fill(Protocol):
    """Places tasks in line, `size()` at a time, until `done()`; says why it did not come that far."""

    def __call__(
        self, tasks: deque[Task], size: Callable[[], int], done: Callable[[], bool]
    ) -> Refusal | None: ...


def fill_by_group(
    session: Session, gang: Gang, tasks: deque[Task], statement: Statement, fill: Fill
) -> Refusal | None:
    """Places what it can of a gang; `tasks` keeps those that have not had their turn."""
    waiting = {task.id for task in tasks}
    order = {task.id: place for place, task in enumerate(tasks)}
    groups = _in_order(session, gang)
    lines = {
        group.id: deque(
            sorted((each for each in group.tasks if each.id in waiting), key=lambda each: order[each.id])
        )
        for group in groups
    }
    refusal: Refusal | None = None
    line = deque(group for group in groups if lines[group.id])
    while line:
        group = line.popleft()
        mark = statement.checkpoint()
        members = lines[group.id]
        cause = fill(members, partial(session.sub_shortfall, group), partial(session.sub_ready, group))
        refusal = both(refusal, cause)
        if statement.checkpoint() == mark:
            continue
        if not session.sub_ready(group) and not session.sub_pipelined(group):
            statement.rollback(mark)
            continue
        if members:
            line.append(group)
        if session.ready(gang):
            break
    tasks.clear()
    tasks.extend(task for members in lines.values() for task in members)
    return refusal


def _in_order(session: Session, gang: Gang) -> list[SubGroup]:
    """A gang's groups: of each policy as many as it requires beside those that are whole, then the others."""
    groups = session.sorted_subgroups(session.subgroups(gang))
    lacking: dict[SubGroupPolicy, int] = {}
    for policy in gang.policies:
        whole = sum(1 for group in groups if group.policy is policy and session.sub_ready(group))
        lacking[policy] = policy.minimum - whole
    required, others = [], []
    for group in groups:
        if group.policy is not None and lacking[group.policy] > 0 and not session.sub_ready(group):
            lacking[group.policy] -= 1
            required.append(group)
        else:
            others.append(group)
    return required + others
