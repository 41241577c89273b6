"""A few rows of the node table, looked at as if more tasks of a class had been put on them already.

This is what a plugin's node-local hooks get.  `added` says how many such tasks each row is imagined to hold in
addition, so one call scores a hundred rows at several fillings, and placing a gang needs a handful of vector
operations instead of a few for each task.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.core.model import TaskClass
from podium.core.nodes import Nodes

Amounts = NDArray[np.int64]


class Rows:
    """Rows of the table, with imagined additions."""

    __slots__ = ("_allocatable", "_cls", "_filled", "_nodes", "added", "index", "later")

    def __init__(
        self, nodes: Nodes, cls: TaskClass, index: Amounts, added: Amounts | int = 0, *, later: bool = False
    ) -> None:
        self._nodes = nodes
        self._cls = cls
        self._allocatable: dict[int, Amounts] = {}  # several hooks look at the same columns
        self._filled: dict[int, Amounts] = {}
        self.index = index
        self.added = added
        self.later = later  # as it will be once those that are leaving have left

    def allocatable(self, column: int) -> Amounts:
        found = self._allocatable.get(column)
        if found is None:
            found = self._allocatable[column] = self._nodes.allocatable[self.index, column]
        return found

    def filled(self, column: int) -> Amounts:
        """What would be taken with one more task, beside the imagined ones."""
        found = self._filled.get(column)
        if found is None:
            found = self._nodes.used[self.index, column]
            amount = self._cls.request.amount(column)
            if amount:
                found += (self.added + 1) * amount
            self._filled[column] = found
        return found

    def used(self, column: int) -> Amounts:
        """What is taken, with the imagined tasks."""
        return self.filled(column) - self._cls.request.amount(column)

    def fits(self) -> NDArray[np.bool_]:
        """Which rows take one more task of the class."""
        result: NDArray[np.bool_] = self._nodes.live[self.index]
        for column, _ in self._cls.request.pairs:
            filled = self.filled(column)
            if self.later:
                filled = filled - self._nodes.releasing[self.index, column]
                filled += self._nodes.pipelined[self.index, column]
            result &= filled <= self.allocatable(column)
        return result
