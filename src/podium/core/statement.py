"""Tentative changes: try, look, and keep or undo.

Every placement, promise and eviction of a cycle goes through a statement.  The model itself is changed at once, so
that the next step sees the room as it would be, and the statement remembers how to go back.  There is no second
copy of the arithmetic: going back is one more call of `Cluster.assign`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from podium.core.decisions import Bind, Evict, Nominate
from podium.core.model import Gang, State, Task
from podium.core.plugin import Placed

if TYPE_CHECKING:
    from podium.core.session import Session


class _Step(msgspec.Struct):
    """Equal tasks of one gang that changed together, with where they were before."""

    gang: Gang
    tasks: Sequence[Task]
    before: Sequence[tuple[State, int]]
    state: State
    why: str = ""


class Statement:
    """A sequence of tentative changes over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps: list[_Step] = []

    def place(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        """Gives pending tasks of one class, role and gang their places."""
        self._change(tasks, State.ALLOCATED, rows)

    def pipeline(self, task: Task, row: int) -> None:
        """Promises a pending task a place that others are leaving."""
        self._change([task], State.PIPELINED, [row])

    def evict(self, task: Task, why: str) -> None:
        """Makes a task that holds a place leave it."""
        self._change([task], State.RELEASING, [task.row], why)

    def spare(self, task: Task, state: State) -> None:
        """Lets a task that was told to leave stay as it was, in a dry run that will be rolled back."""
        self._change([task], state, [task.row])

    def checkpoint(self) -> int:
        return len(self._steps)

    def rollback(self, mark: int = 0) -> None:
        """Undoes everything since a checkpoint, last change first."""
        while len(self._steps) > mark:
            step = self._steps.pop()
            # Places that were left and places that are taken again: a task is in one of the two at least.
            self._session.touch([task.row for task in step.tasks if task.row >= 0])
            for task, (state, row) in zip(step.tasks, step.before, strict=True):
                self._session.cluster.assign(task, state, row)
            self._session.touch([row for _, row in step.before if row >= 0])
            self._tell(step, undone=True)

    def commit(self) -> None:
        """Keeps everything: the decisions go out."""
        decisions = self._session.decisions
        nodes = self._session.cluster.nodes
        members: Counter[str] = Counter()
        for step in self._steps:
            if step.state is State.ALLOCATED:
                members[step.gang.id] += len(step.tasks)
        for step in self._steps:
            for task in step.tasks:
                if step.state is State.ALLOCATED:
                    decisions.append(Bind(task.id, nodes.name(task.row), step.gang.id, members[step.gang.id]))
                elif step.state is State.PIPELINED:
                    decisions.append(Nominate(task.id, nodes.name(task.row)))
                    self._session.promised.append(task)
                else:
                    decisions.append(Evict(task.id, step.why))
        self._steps.clear()

    def nominate(self) -> None:
        """Gives everything back but tells where each task would go: its room is being left by others."""
        nodes = self._session.cluster.nodes
        places = [
            (task, task.row) for step in self._steps for task in step.tasks if step.state is not State.RELEASING
        ]
        self.rollback()
        for task, row in places:
            self._session.cluster.nominate(task, nodes.name(row))
            self._session.decisions.append(Nominate(task.id, nodes.name(row)))

    @property
    def empty(self) -> bool:
        return not self._steps

    @property
    def evicts(self) -> bool:
        """Whether anybody has to go.  Room that is there without that is left to allocate."""
        return any(step.state is State.RELEASING for step in self._steps)

    def _change(self, tasks: Sequence[Task], state: State, rows: Sequence[int], why: str = "") -> None:
        before = [(task.state, task.row) for task in tasks]
        step = _Step(tasks[0].gang, tasks, before, state, why)
        cluster = self._session.cluster
        if tasks[0].cls.constraints.devices is not None and state is not State.RELEASING:
            candidates = self._session.candidates(tasks[0], refresh=False)
            for task, row in zip(tasks, rows, strict=True):
                cluster.assign(task, state, row, task.devices or candidates.devices(row, state))
        elif state is State.ALLOCATED and len(tasks) > 1:
            cluster.place_all(tasks, rows)
        else:
            for task, row in zip(tasks, rows, strict=True):
                cluster.assign(task, state, row)
        self._session.touch(rows)
        self._steps.append(step)
        self._tell(step, undone=False)

    def _tell(self, step: _Step, *, undone: bool) -> None:
        """Plugins keep running sums: a place taken, or given back, is told to all of them."""
        placed = Placed(step.gang, step.tasks[0].cls, step.tasks)
        if self._session.budgets:
            for task, (state, _) in zip(step.tasks, step.before, strict=True):
                leaving = (step.state is State.RELEASING) - (state is State.RELEASING)
                self._session.budgets.count(task, leaving if undone else -leaving)
        if (step.state is State.RELEASING) == undone:
            self._session.tell_allocated(placed)
        else:
            self._session.tell_deallocated(placed)
