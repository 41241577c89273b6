"""nodeorder: the scores that kube-scheduler's users know, each 0 to 100 times its weight."""

from __future__ import annotations

import numpy as np

from podium.core.labels import matches
from podium.core.model import TaskClass
from podium.core.plugin import MAX_NODE_SCORE, Arguments, Plugin, Scores
from podium.core.resources import CPU, MEMORY
from podium.core.rows import Rows
from podium.core.session import Session

_BALANCED = ("cpu", "memory", "nvidia.com/gpu")


class NodeOrder(Plugin):
    name = "nodeorder"

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._least = arguments.number("leastrequested.weight", 1)
        self._most = arguments.number("mostrequested.weight", 0)
        self._balanced = arguments.number("balancedresource.weight", 1)
        self._affinity = arguments.number("nodeaffinity.weight", 2)
        self._columns: list[int] = []

    def on_session_open(self, session: Session) -> None:
        dimensions = session.cluster.dimensions
        self._columns = [column for name in _BALANCED if (column := dimensions.find(name)) is not None]

    def score(self, cls: TaskClass, session: Session) -> Scores:
        """Preferred node affinity: the weights of the terms that a node meets."""
        nodes = session.cluster.nodes
        result: Scores = np.zeros(nodes.count)
        if not cls.constraints.preferred or not self._affinity:
            return result
        for row, facts in enumerate(nodes.facts):
            if facts is not None:
                result[row] = self._affinity * sum(
                    weight for weight, term in cls.constraints.preferred if matches(term, facts)
                )
        return result

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        parts = [self._fraction(cls, rows, column) for column in (CPU, MEMORY)]
        total: Scores = np.zeros(len(parts[0]))
        if self._least:
            free = sum((np.where(part <= 1, 1 - part, 0.0) for part in parts), np.zeros(len(total)))
            total += self._least * MAX_NODE_SCORE * free / len(parts)
        if self._most:
            full = sum((np.where(part <= 1, part, 0.0) for part in parts), np.zeros(len(total)))
            total += self._most * MAX_NODE_SCORE * full / len(parts)
        if self._balanced:
            chosen = [c for c in self._columns if c in (CPU, MEMORY) or cls.request.amount(c)]
            shares = np.array([np.minimum(self._fraction(cls, rows, column), 1.0) for column in chosen])
            total += self._balanced * MAX_NODE_SCORE * (1 - shares.std(axis=0))
        return total

    def _fraction(self, cls: TaskClass, rows: Rows, column: int) -> Scores:
        """How full a row would be; a row that has none of it counts as full."""
        capacity = rows.allocatable(column)
        wanted = rows.used(column) + cls.request.amount(column)
        result: Scores = np.where(capacity > 0, wanted / np.maximum(capacity, 1), 1.0)
        return result
