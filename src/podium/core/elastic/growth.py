"""Growth of many units at once: rows that new members have been given, before each member is a task.

A pass may give one more member to each of thousands of units, and there may be dozens of passes.  Rows are taken
as they are chosen, so that the next pass sees the room as it would be; tasks are made once, when the passes are
over, all of a unit together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from podium.core.elastic.unit import Unit
from podium.core.framework.plugin import Placed
from podium.core.framework.session import Session
from podium.core.model.model import Task


class _Step(msgspec.Struct):
    """Equal members of units that were given rows together."""

    like: Task
    rows: list[int]
    dealt: list[tuple[Unit, list[int]]]


class Growth:
    """What has been given so far."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps: list[_Step] = []

    def add(self, like: Task, rows: list[int], dealt: list[tuple[Unit, list[int]]]) -> None:
        step = _Step(like, rows, dealt)
        self._book(step, 1)
        self._steps.append(step)

    def mark(self) -> int:
        return len(self._steps)

    def undo(self, mark: int = 0) -> None:
        while len(self._steps) > mark:
            self._book(self._steps.pop(), -1)

    def take(self) -> Iterator[tuple[Unit, list[int]]]:
        """Gives everything back, and says which rows each unit had been given."""
        units: dict[str, tuple[Unit, list[int]]] = {}
        for step in self._steps:
            for unit, rows in step.dealt:
                units.setdefault(unit.name, (unit, []))[1].extend(rows)
        self.undo()
        yield from units.values()

    def _book(self, step: _Step, sign: int) -> None:
        """Plugins keep running sums by queue: for them it is one member that got, or lost, all these places."""
        session, nodes = self._session, self._session.cluster.nodes
        nodes.add_many(nodes.used, np.array(step.rows, dtype=np.int64), step.like.cls.request, sign)
        session.touch(step.rows)
        placed = Placed(step.like.gang, step.like.cls, [step.like] * len(step.rows))
        if sign > 0:
            session.notify_allocated(placed)
        else:
            session.notify_deallocated(placed)


class Members:
    """Rows for new members, dealt to units in order."""

    def __init__(self, wanted: Sequence[tuple[Unit, int]]) -> None:
        self._ahead = iter(wanted)
        self._unit: Unit | None = None
        self._left = 0

    def take(self, rows: Sequence[int]) -> Iterator[tuple[Unit, list[int]]]:
        place = 0
        while place < len(rows):
            if not self._left:
                self._unit, self._left = next(self._ahead)
            assert self._unit is not None
            some = list(rows[place : place + self._left])
            self._left -= len(some)
            place += len(some)
            yield self._unit, some
