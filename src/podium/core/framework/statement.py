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
import numpy as np

from podium.core.framework.plugin import Placed
from podium.core.model.decisions import Bind, Evict, Nominate, Release, Reserve, Resize
from podium.core.model.model import HOLDING, Gang, Size, State, Task

if TYPE_CHECKING:
    from podium.core.framework.session import Session


# A task in one of these takes room: who keeps sums counts it.
_TAKING = HOLDING | {State.PIPELINED}


class _Step(msgspec.Struct):
    """Equal tasks of one gang that changed together, with where they were before."""

    gang: Gang
    tasks: Sequence[Task]
    before: Sequence[tuple[State, int]]
    state: State
    why: str = ""
    grace: int | None = None
    size: Size | None = None  # what the gang's was, of a step that resizes it
    made: bool = False  # the tasks are slots that this step has made


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

    def evict(self, task: Task, why: str, grace: int | None = None) -> None:
        """Makes a task that holds a place leave it, within its own grace period or this one."""
        self._change([task], State.RELEASING, [task.row], why, grace)

    def spare(self, task: Task, state: State) -> None:
        """Lets a task that is being evicted stay as it was, in a dry run that will be rolled back."""
        self._change([task], state, [task.row])

    def claim(self, task: Task) -> None:
        """Makes use of a place that was reserved for a task: with its pod, it is bound there."""
        self._change([task], State.ALLOCATED, [task.row])

    def release(self, task: Task, why: str) -> None:
        """Gives the place back that was reserved for a task."""
        self._change([task], State.PENDING, [-1], why)

    def restore(self, task: Task, row: int) -> None:
        """Gives a task the place back that was reserved for it, in the statement that released it."""
        self._change([task], State.RESERVED, [row])

    def resize(self, gang: Gang, wanted: int, *, scaled: float | None = None) -> None:
        """Asks an elastic gang to have so many members, or none: it is to wait.  `scaled` is the time, if that
        counts as a change of a gang that runs."""
        size = gang.size
        assert size is not None, f"{gang} is not elastic"
        assert wanted == 0 or size.least <= wanted <= size.most, f"{gang} cannot have {wanted} members"
        self._steps.append(_Step(gang, (), (), State.PENDING, size=size))
        since = size.scaled if scaled is None else scaled
        gang.resize(msgspec.structs.replace(size, wanted=wanted, scaled=since))

    def extend(self, like: Task, count: int) -> list[Task]:
        """Slots for more members of an elastic gang, like one that it has.  They are there at once, so that their
        places are nobody else's; its owner lists them when it has learnt of the new size."""
        tasks = self._session.cluster.slots.more(like, count)
        self._steps.append(_Step(like.gang, tasks, (), State.PENDING, made=True))
        return tasks

    def extend_all(self, wanted: Sequence[tuple[Task, Sequence[int]]]) -> None:
        """Such slots for many gangs, beside a member of each, all of one class; each slot with its place.

        What costs as much for one as for thousands is done once.  Plugins hear of each gang.
        """
        session, cls = self._session, wanted[0][0].cls
        if cls.constraints.devices is not None:  # each of them is given devices of its own
            for like, rows in wanted:
                self.place(self.extend(like, len(rows)), rows)
            return
        steps: list[_Step] = []
        taken: list[int] = []
        for like, rows in wanted:
            tasks = self.extend(like, len(rows))
            session.cluster.settle_all(tasks, rows)
            steps.append(_Step(like.gang, tasks, [(State.PENDING, -1)] * len(tasks), State.ALLOCATED))
            self._steps.append(steps[-1])
            taken += rows
        nodes = session.cluster.nodes
        nodes.add_many(nodes.used, np.array(taken, dtype=np.int64), cls.request, 1)
        session.touch(taken)
        failed: Exception | None = None
        for step in steps:
            try:
                self._notify(step, undone=False)
            except Exception as error:  # what is undone then is undone by everybody
                failed = failed or error
        if failed is not None:
            raise failed

    def checkpoint(self) -> int:
        return len(self._steps)

    def rollback(self, mark: int = 0) -> None:
        """Undoes everything since a checkpoint, last change first."""
        while len(self._steps) > mark:
            step = self._steps.pop()
            if step.size is not None:
                step.gang.resize(step.size)
                continue
            if step.made:
                for task in step.tasks:
                    self._session.cluster.remove_task(task.id)
                continue
            # Places that were left and places that are taken again: a task is in one of the two at least.
            self._session.touch([task.row for task in step.tasks if task.row >= 0])
            for task, (state, row) in zip(step.tasks, step.before, strict=True):
                self._session.cluster.assign(task, state, row)
            self._session.touch([row for _, row in step.before if row >= 0])
            self._notify(step, undone=True)

    def commit(self, gangs: int = 1) -> None:
        """Keeps everything: the decisions go out.  `gangs` is how many start together."""
        nodes, cluster, decisions = self._session.cluster.nodes, self._session.cluster, self._session.decisions
        members: Counter[str] = Counter()
        for step in self._steps:
            if step.state is State.ALLOCATED:
                members[step.gang.id] += len(step.tasks)
        for step in self._steps:
            gang, state = step.gang, step.state
            if step.size is not None:
                assert gang.size is not None
                if gang.size.wanted < step.size.wanted:
                    cluster.slots.trim(gang)
                decisions.append(Resize(gang.id, gang.size.wanted))
            if step.made:
                continue
            if state is State.ALLOCATED:
                _reserve_slots(step.tasks)
            for task in step.tasks:
                if state is State.ALLOCATED and task.has_pod:
                    decisions.append(Bind(task.id, nodes.name(task.row), gang.id, members[gang.id], gangs))
                elif state is State.ALLOCATED:
                    cluster.assign(task, State.RESERVED, task.row)
                    decisions.append(Reserve(task.id, nodes.name(task.row), gang.id))
                elif state is State.PIPELINED:
                    decisions.append(Nominate(task.id, nodes.name(task.row)))
                    self._session.promised.append(task)
                elif state is State.PENDING:
                    if task.state is State.PENDING:  # or else it has another place by now, or its own again
                        decisions.append(Release(task.id, gang.id, step.why))
                elif state is State.RESERVED:
                    pass  # it has been given back: nothing has changed
                else:
                    decisions.append(Evict(task.id, step.why, step.grace))
            if not gang.counts[State.RESERVED]:
                gang.held_since = None
        self._steps.clear()

    def reserve(self) -> bool:
        """Keeps the places that tasks got, without binding any: the gang is not whole.  Whether there are any.

        What was only promised is given back: a place that others are leaving is nobody's to hold.
        """
        cluster, nodes = self._session.cluster, self._session.cluster.nodes
        kept = [step for step in self._steps if step.state is State.ALLOCATED]
        promised = [step for step in self._steps if step.state is not State.ALLOCATED]
        self._steps = promised
        self.rollback()
        for step in kept:
            for task, (before, _) in zip(step.tasks, step.before, strict=True):
                cluster.assign(task, State.RESERVED, task.row)
                if before is not State.RESERVED:
                    self._session.decisions.append(Reserve(task.id, nodes.name(task.row), step.gang.id))
            if step.gang.held_since is None:
                step.gang.held_since = self._session.now
            self._session.holders[step.gang.id] = step.gang
        return bool(kept)

    def nominate(self) -> None:
        """Gives everything back but nominates where each task would go: its room is being left by others."""
        nodes = self._session.cluster.nodes
        places = [(task, task.row) for step in self._steps for task in step.tasks if step.state in _TAKING]
        self.rollback()
        for task, row in places:
            self._session.cluster.nominations.put(task, nodes.name(row))
            self._session.decisions.append(Nominate(task.id, nodes.name(row)))

    @property
    def empty(self) -> bool:
        return not self._steps

    @property
    def evicts(self) -> bool:
        """Whether anybody has to go.  Room that is there without that is left to allocate."""
        return any(step.state is State.RELEASING for step in self._steps)

    def _change(
        self,
        tasks: Sequence[Task],
        state: State,
        rows: Sequence[int],
        why: str = "",
        grace: int | None = None,
    ) -> None:
        before = [(task.state, task.row) for task in tasks]
        step = _Step(tasks[0].gang, tasks, before, state, why, grace)
        cluster = self._session.cluster
        left = [row for _, row in before if row >= 0]
        if tasks[0].cls.constraints.devices is not None and state in _TAKING:
            candidates = self._session.candidates(tasks[0], refresh=False)
            for task, row in zip(tasks, rows, strict=True):
                cluster.assign(task, state, row, task.devices or candidates.devices(row, state))
                if len(tasks) > 1:
                    self._session.touch([row])  # the next one picks among the devices that are left
        elif state is State.ALLOCATED and len(tasks) > 1:
            cluster.place_all(tasks, rows)
        else:
            for task, row in zip(tasks, rows, strict=True):
                cluster.assign(task, state, row)
        self._session.touch([row for row in (*left, *rows) if row >= 0])
        self._steps.append(step)
        self._notify(step, undone=False)

    def _notify(self, step: _Step, *, undone: bool) -> None:
        """Plugins keep running sums: each of them hears of a place that is taken, or given back."""
        placed = Placed(step.gang, step.tasks[0].cls, step.tasks)
        if self._session.budgets:
            for task, (state, _) in zip(step.tasks, step.before, strict=True):
                leaving = (step.state is State.RELEASING) - (state is State.RELEASING)
                self._session.budgets.count(task, leaving if undone else -leaving)
        took, takes = step.before[0][0] in _TAKING, step.state in _TAKING
        if took == takes:
            return
        if takes != undone:
            self._session.notify_allocated(placed)
        else:
            self._session.notify_deallocated(placed)


def _reserve_slots(tasks: Sequence[Task]) -> None:
    """Equal tasks that have been placed are reserved where they are, all at once, if none of them has a pod."""
    if not any(task.has_pod or task.state is not State.ALLOCATED for task in tasks):
        tasks[0].gang.move_all(tasks, State.ALLOCATED, State.RESERVED)
