"""Whose nodes are whose, and who is a guest on them.

    owner      the queue that a node belongs to (`NodeFacts.queue`); where a dialect has a queue that owns the
               rest, nodes without an owner are that one's for all queues of the dialect
    home       the nodes of a queue: its own; and those of nobody, where nobody owns the rest
    borrower   a task on a node that is not among the home of its queue

Nothing is kept about borrowing: who borrows follows from where tasks are, so a node that changes hands makes
borrowers of those on it, and gives others their home back.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.properties import ABSENT, Properties
from podium.core.model.model import Queue, Task

Mask = NDArray[np.bool_]
NO_QUEUE = Queue("")


class Ownership:
    """The owners of all nodes, for as long as neither nodes nor queues change."""

    def __init__(self, queues: Mapping[str, Queue], properties: Properties) -> None:
        self._queues = queues
        self._properties = properties
        self._rest = {queue.dialect: queue.id for queue in queues.values() if queue.owns_rest}
        self._homes: dict[str, Mask] = {}

    def owner(self, row: int) -> str:
        """The queue that a row belongs to; "" for one that is everybody's."""
        owners = self._properties.owners
        number = int(owners.rows(self._properties.count)[row])
        if number != ABSENT:
            return owners.values[number]
        return next(iter(self._rest.values()), "")

    def home(self, queue: str) -> Mask:
        """The rows on which tasks of a queue are at home."""
        found = self._homes.get(queue)
        if found is None:
            count = self._properties.count
            found = self._properties.owners.equal(queue, count)
            rest = self._rest.get(self._queues.get(queue, NO_QUEUE).dialect)
            if rest is None or rest == queue:
                found = found | (self._properties.owners.rows(count) == ABSENT)
            self._homes[queue] = found
        return found

    @property
    def owners(self) -> list[str]:
        """The queues that own nodes, or did so once."""
        return [*self._properties.owners.values, *self._rest.values()]

    def owns(self, queue: str) -> bool:
        """Whether a queue is one that owns nodes, be it none at the moment."""
        known = self._queues.get(queue, NO_QUEUE)
        return known.owns_rest or known.lends or known.borrows or queue in self._properties.owners.values

    def owned(self, queue: str) -> Mask:
        """The rows that belong to a queue, whoever else may use them."""
        found = self._properties.owners.equal(queue, self._properties.count)
        if queue in self._rest.values():
            found = found | (self._properties.owners.rows(self._properties.count) == ABSENT)
        return found

    def borrows(self, task: Task) -> bool:
        """Whether a task is on a node of another queue."""
        return task.row >= 0 and not self.home(task.gang.queue)[task.row]

    def lenders(self, queue: Queue) -> list[Queue]:
        """The queues that lend to one."""
        if not queue.borrows:
            return []
        named = (self._queues.get(id) for id in queue.lenders) if queue.lenders else self._queues.values()
        found = {each.id: each for each in named if each is not None and each.lends and each.id != queue.id}
        return list(found.values())


class Loan:
    """The rows of a lender that a gang may look at, in place of its home."""

    __slots__ = ("lender", "rows")

    def __init__(self, lender: str, rows: Mask) -> None:
        self.lender = lender
        self.rows = rows
