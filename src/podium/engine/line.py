"""The gangs of one queue that wait, as rows of a table: what they ask for, their order, and who is to be asked."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Set

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.accounts import Accounts
from podium.core.model.model import Gang

Amounts = NDArray[np.int64]

_FIRST_ROWS = 64
# What is to be done about a row: nothing; it is asked if there may be room for it; it is asked.
_REST, _WOKEN, _PUT = 0, 1, 2
_LEVELS = 8  # priorities that are distinguished; if there are more, all count as the highest


class Line:
    """A row for each gang."""

    def __init__(self, accounts: Accounts, queue: str) -> None:
        self.accounts = accounts
        self.rows: dict[str, int] = {}
        self._queue = queue
        self._ids: list[str] = []  # "" in a row that is free
        self._free: list[int] = []
        self._asked: Amounts = np.zeros((_FIRST_ROWS, 8), dtype=np.int64)  # zeros where it is not all one
        self._order: NDArray[np.float64] = np.zeros((_FIRST_ROWS, 2))  # the first in line has the least
        self._priorities: Amounts = np.zeros(_FIRST_ROWS, dtype=np.int64)  # the highest of a gang's tasks
        self._due: NDArray[np.int8] = np.zeros(_FIRST_ROWS, dtype=np.int8)
        accounts.changed_in[queue] = set(accounts.active_in.get(queue, ()))

    @property
    def waiting(self) -> bool:
        """Whether anybody is to be asked."""
        return bool(self._due.any())

    @property
    def woken(self) -> int:
        """How many are to be asked for whom there may be no room."""
        return int(np.count_nonzero(self._due == _WOKEN))

    def follow(self, width: int, keeps: Callable[[Gang], bool]) -> None:
        """Takes in who has come, changed or gone; of the queue's gangs those are kept that `keeps` says."""
        if self._asked.shape[1] < width:
            self._asked = np.pad(self._asked, ((0, 0), (0, width - self._asked.shape[1])))
        changed = self.accounts.changed_in[self._queue]
        if not changed:
            return
        self.accounts.changed_in[self._queue] = set()
        known = self.accounts.active_in.get(self._queue, {})
        for id in changed:
            gang = known.get(id)
            if gang is None or not keeps(gang):
                self._drop(id)
            else:
                self._take_in(gang)

    def _take_in(self, gang: Gang) -> int:
        row = self.rows.get(gang.id)
        if row is None:
            row = self.rows[gang.id] = self._new_row(gang.id)
        self._asked[row] = 0
        demand = self.accounts.demand_of(gang.id)
        if demand is not None:
            for column, amount in demand.cls.request.pairs:
                self._asked[row, column] = amount
        self._order[row] = -gang.priority, gang.created
        self._priorities[row] = max((gang.priority, *(task.priority for task in gang.tasks.values())))
        return row

    def _drop(self, id: str) -> None:
        row = self.rows.pop(id, None)
        if row is not None:
            self._ids[row] = ""
            self._due[row] = _REST
            self._free.append(row)

    def _new_row(self, id: str) -> int:
        if self._free:
            row = self._free.pop()
            self._ids[row] = id
            return row
        self._ids.append(id)
        if len(self._ids) > len(self._due):
            self._asked = np.concatenate([self._asked, np.zeros_like(self._asked)])
            self._order = np.concatenate([self._order, np.zeros_like(self._order)])
            self._priorities = np.concatenate([self._priorities, np.zeros_like(self._priorities)])
            self._due = np.concatenate([self._due, np.zeros_like(self._due)])
        return len(self._ids) - 1

    # --- who is asked ------------------------------------------------------------------------------------------

    def put(self, gang: Gang) -> None:
        """It is asked."""
        row = self.rows.get(gang.id)
        if row is None:
            row = self._take_in(gang)
        self._due[row] = _PUT

    def wake(self, ids: Set[str]) -> bool:
        """They are asked if there may be room for them; whether there is any."""
        rows = self.rows
        if 2 * len(ids) < len(rows):
            chosen = [rows[id] for id in ids if id in rows]
            self._due[chosen] = np.maximum(self._due[chosen], _WOKEN)
            return bool(chosen)
        left = [*self._free, *(rows[id] for id in rows.keys() - ids)]
        due = np.maximum(self._due, _WOKEN)
        due[left] = self._due[left]
        due[len(self._ids) :] = _REST
        self._due = due
        return len(left) < len(self._ids)

    def leave_out(self, room: Callable[[int], Iterable[Amounts]]) -> None:
        """Those who were only woken are not asked if no room is large enough for a task of theirs.

        `room` are the rooms within reach of a priority.
        """
        rows = np.flatnonzero(self._due == _WOKEN)
        levels = sorted(set(self._priorities[rows].tolist()))  # np.unique loads a tenth of a second of numpy first
        if len(levels) > _LEVELS:
            levels = levels[-1:]
        below = -(1 << 62)
        for level in levels:
            chosen = rows[(self._priorities[rows] > below) & (self._priorities[rows] <= level)]
            below = level
            asked = self._asked[chosen]
            fits: NDArray[np.bool_] = np.zeros(len(chosen), dtype=bool)
            for each in room(level):
                width = min(len(each), asked.shape[1])
                fits |= np.all(asked[:, :width] <= each[:width], axis=1)
            self._due[chosen[~fits]] = _REST

    def take(self, most: int) -> list[str]:
        """The first ones that are to be asked."""
        rows = np.flatnonzero(self._due)
        if len(rows) > most:
            rows = self._first(rows, most)
        self._due[rows] = _REST
        return [self._ids[row] for row in rows.tolist()]

    def _first(self, rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
        """By priority and age; of equals by name, as everywhere."""
        order = self._order[rows]
        sequence = np.lexsort((order[:, 1], order[:, 0]))
        last = order[sequence[most - 1]]
        same = (order == last).all(axis=1)
        before = sequence[: most - 1]
        sure = rows[before[~same[before]]]
        ties = rows[same].tolist()
        return np.concatenate([sure, heapq.nsmallest(most - len(sure), ties, key=self._ids.__getitem__)]).astype(
            np.intp
        )
