"""nodegroup: which queues may use which groups of nodes.

A queue's affinity names groups it requires, prefers or
shuns; a queue without any takes what its nearest ancestor says when the hierarchy counts.  A node of a group takes
tasks of queues that name the group, other nodes take tasks of queues that name none:

    strict                 a node without a group takes nothing at all
    enablePreferredOrder   earlier preferred groups count more

A queue's limits by group cap what it may hold on all nodes of each group together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from podium.core.cluster.properties import ABSENT
from podium.core.framework.plugin import Argument, Arguments, Mask, Placed, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.framework.shares import called
from podium.core.model.model import HOLDING, NodeGroups, Queue, Task
from podium.reasons import NODE_GROUP, NODE_GROUP_LIMIT, Refusal, refuse

_REQUIRED, _PREFERRED, _SHUNNED = 100.0, 50.0, -1.0


class NodeGroup(Plugin):
    name = "nodegroup"
    ARGUMENTS = (
        Argument("strict", True, "a node without a group takes nothing at all"),
        Argument("enablePreferredOrder", False, "earlier preferred groups count more"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._strict = arguments.flag("strict")
        self._ordered = arguments.flag("enablePreferredOrder")

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._properties = session.cluster.nodes.properties
        self._groups = {id: self._inherited(queue) for id, queue in session.queues.items()}
        column = session.cluster.dimensions.column
        self._limits = {
            id: {
                group: {column(name): amount for name, amount in amounts.items()}
                for group, amounts in queue.group_limits.items()
            }
            for id, queue in session.queues.items()
            if queue.group_limits
        }
        self._group_of: dict[str, str] = {}  # of tasks that count against a limit: the group they are in
        self._used: dict[tuple[str, str], Counter[int]] = {}  # by queue and group, by column
        for gang in session.gangs:
            if gang.queue in self._limits:
                self._enter(task for task in gang.tasks.values() if task.state in HOLDING)

    def _inherited(self, queue: Queue) -> NodeGroups | None:
        seen = set()
        while queue.groups is None and self.hierarchy and queue.parent in self._session.queues:
            if queue.id in seen:
                return None
            seen.add(queue.id)
            queue = self._session.queues[queue.parent]
        return queue.groups

    def signature(self, task: Task) -> Hashable:
        return task.gang.queue

    def applies(self, hook: str, task: Task) -> bool:
        if hook == "batch_predicate":
            return task.gang.queue in self._limits
        if hook == "score":
            return self._groups.get(task.gang.queue) is not None
        return True

    # --- which groups ------------------------------------------------------------------------------------------

    def mask(self, task: Task, session: Session) -> Mask:
        groups = self._groups.get(task.gang.queue)
        found = self._properties.groups.where(lambda group: _allowed(groups, group), self._properties.count)
        if groups is None and not self._strict:
            found |= self._properties.groups.rows(self._properties.count) == ABSENT
        return found

    def score(self, task: Task, session: Session) -> Scores:
        groups = self._groups[task.gang.queue]
        assert groups is not None
        column = self._properties.groups
        values = np.array([*(self._worth(groups, group) for group in column.values), 0.0])
        result: Scores = values[column.rows(self._properties.count)]
        return result

    def _worth(self, groups: NodeGroups, group: str) -> float:
        if group in groups.anti_preferred:
            return _SHUNNED
        worth = _REQUIRED if group in groups.required else 0.0
        if group in groups.preferred:
            place, count = groups.preferred.index(group), len(groups.preferred)
            worth += _PREFERRED * (count - place) / count if self._ordered else _PREFERRED
        return worth

    # --- how much of them --------------------------------------------------------------------------------------

    def batch_predicate(self, task: Task, later: bool) -> Mask:
        full = self._full(task)
        return ~self._properties.groups.where(lambda group: group in full, self._properties.count)

    def _full(self, task: Task) -> set[str]:
        """Groups of which the task's queue would have too much."""
        queue = task.gang.queue
        full = set()
        for group, limits in self._limits[queue].items():
            used = self._used.get((queue, group), Counter())
            if any(
                column in limits and used[column] + amount > limits[column]
                for column, amount in task.cls.request.pairs
            ):
                full.add(group)
        return full

    def on_allocate(self, placed: Placed) -> None:
        if placed.gang.queue in self._limits:
            self._enter(placed.tasks)

    def on_deallocate(self, placed: Placed) -> None:
        for task in placed.tasks:
            group = self._group_of.pop(task.id, None)
            if group is not None:
                self._used[placed.gang.queue, group].subtract(dict(task.cls.request.pairs))

    def _enter(self, tasks: Iterable[Task]) -> None:
        facts = self._session.cluster.nodes.facts
        for task in tasks:
            node = facts[task.row] if task.row >= 0 else None
            group = node.group if node is not None else ""
            if group and task.id not in self._group_of:
                self._group_of[task.id] = group
                used = self._used.setdefault((task.gang.queue, group), Counter())
                used.update(dict(task.cls.request.pairs))

    def refusals(self, task: Task) -> Iterator[tuple[Refusal, Mask]]:
        queue = called(self._session.queues[task.gang.queue])
        yield refuse(NODE_GROUP, queue=queue), ~self.mask(task, self._session)
        if task.gang.queue in self._limits:
            yield refuse(NODE_GROUP_LIMIT, queue=queue), ~self.batch_predicate(task, False)


def _allowed(groups: NodeGroups | None, group: str) -> bool:
    """Shunning strictly outweighs wanting; shunning by preference admits, with the least of scores."""
    if groups is None:
        return False
    if group in groups.anti_preferred:
        return True
    return group not in groups.anti_required and (group in groups.required or group in groups.preferred)
