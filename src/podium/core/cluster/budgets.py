"""Disruption budgets through a session: how many more tasks of each may be disturbed."""

from __future__ import annotations

from collections.abc import Iterable

from podium.core.cluster.peers import Peers
from podium.core.model.model import Budget, Task


class Budgets:
    """What is left of every budget, counted down by evictions that are only tentative yet as well."""

    def __init__(self, budgets: Iterable[Budget], peers: Peers) -> None:
        self._peers = peers
        self._left: dict[str, int] = {}
        self._by_namespace: dict[str, list[Budget]] = {}
        self._of: dict[str, tuple[str, ...]] = {}
        for budget in budgets:
            self._left[budget.id] = budget.allowed
            for namespace in budget.selection.namespaces:
                self._by_namespace.setdefault(namespace, []).append(budget)

    def __bool__(self) -> bool:
        return bool(self._left)

    def of(self, task: Task) -> tuple[str, ...]:
        """The budgets that a task counts in."""
        found = self._of.get(task.id)
        if found is None:
            budgets = self._by_namespace.get(task.namespace, ())
            found = tuple(each.id for each in budgets if self._peers.selects(each.selection, task))
            self._of[task.id] = found
        return found

    def count(self, task: Task, sign: int) -> None:
        """A task is being evicted (-1), or stays after all (1)."""
        for budget in self.of(task):
            self._left[budget] += sign

    def broken_by(self, tasks: Iterable[Task]) -> set[str]:
        """Of tasks that would go in this order, the ids of those whose going no budget allows any more."""
        spent: dict[str, int] = {}
        broken = set()
        for task in tasks:
            budgets = self.of(task)
            if any(self._left[each] - spent.get(each, 0) <= 0 for each in budgets):
                broken.add(task.id)
                continue
            for each in budgets:
                spent[each] = spent.get(each, 0) + 1
        return broken
