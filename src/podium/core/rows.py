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


class Rows:
    """Rows of the table, with imagined additions."""

    __slots__ = ("_cls", "_nodes", "added", "index", "later")

    def __init__(
        self,
        nodes: Nodes,
        cls: TaskClass,
        index: NDArray[np.int64],
        added: NDArray[np.int64] | int = 0,
        *,
        later: bool = False,
    ) -> None:
        self._nodes = nodes
        self._cls = cls
        self.index = index
        self.added = added
        self.later = later  # as it will be once those that are leaving have left

    def allocatable(self, column: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._nodes.allocatable[self.index, column]
        return found

    def used(self, column: int) -> NDArray[np.int64]:
        """What is taken, with the imagined tasks."""
        found: NDArray[np.int64] = self._nodes.used[self.index, column]
        amount = self._cls.request.amount(column)
        return found + self.added * amount if amount else found

    def idle(self, column: int) -> NDArray[np.int64]:
        return self.allocatable(column) - self.used(column)

    def future_idle(self, column: int) -> NDArray[np.int64]:
        leaving: NDArray[np.int64] = self._nodes.releasing[self.index, column]
        promised: NDArray[np.int64] = self._nodes.pipelined[self.index, column]
        return self.idle(column) + leaving - promised

    def fits(self) -> NDArray[np.bool_]:
        """Which rows take one more task of the class."""
        result: NDArray[np.bool_] = self._nodes.live[self.index].copy()
        for column, amount in self._cls.request.pairs:
            result &= (self.future_idle(column) if self.later else self.idle(column)) >= amount
        return result
