"""Slots: tasks without a pod, so that a place can be found before there is one.

A job may want its places decided first and its pods created for them.  Such a job lists its slots; each is known
by owner, role and index, and is placed like any task, except that it is reserved where others are bound.  When a
pod comes that names the slot, the two are one task: the pod takes over the place, and the slot counts no longer.
When the pod is gone and the owner still lists the slot, the slot is there again.

    slot, no pod      pending, or reserved on a node
    slot and its pod  one task, the pod's: pending, reserved, then bound as every pod

Where a slot is reserved stands in the API, with its owner, so a scheduler that starts anew finds it.  While it
runs it knows better than what it has written: the API's word on a slot counts when it is heard for the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from podium.core.model.facts import TaskFacts
from podium.core.model.model import PLACED, State, Task, TaskClass

if TYPE_CHECKING:
    from podium.core.cluster.cluster import Cluster

# A pod in one of these speaks for its slot, whoever else names it.
_FILLING = PLACED | {State.PENDING, State.RESERVED, State.PIPELINED, State.SUCCEEDED}


class Place(msgspec.Struct, frozen=True):
    """What was reserved for a task."""

    cls: TaskClass
    row: int
    devices: tuple[int, ...]


def slot_id(owner: str, role: str, index: int) -> str:
    """How a slot is known."""
    return f"slot/{owner}/{role}/{index}"


class Slots:
    """The one task of each slot: the slot itself, or the pod that fills it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tasks: dict[str, Task] = {}
        self._listed: set[str] = set()  # those that owners list

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def get(self, slot: str) -> Task | None:
        return self._tasks.get(slot)

    # --- slots as their owners list them -------------------------------------------------------------------------

    def put(self, facts: TaskFacts) -> Task:
        """A slot as its owner lists it."""
        assert not facts.has_pod
        first = facts.slot not in self._listed
        self._listed.add(facts.slot)
        task = self._tasks.get(facts.slot)
        if task is None:
            return self._cluster.put_task(facts)
        if task.has_pod:
            if first and task.state is State.PENDING and facts.state is State.RESERVED:
                self._cluster.reserve(task, facts.node)
            return task
        node = self._cluster.nodes.name(task.row) if task.row >= 0 else ""
        return self._cluster.put_task(msgspec.structs.replace(facts, state=task.state, node=node))

    def remove(self, slot: str) -> None:
        """Its owner lists a slot no longer.  A pod that fills it stays, and gives back what was only reserved."""
        self._listed.discard(slot)
        task = self._tasks.get(slot)
        if task is None:
            return
        if task.has_pod:
            self._cluster.release(task)
        else:
            self._cluster.remove_task(task.id)

    # --- pods that fill them -------------------------------------------------------------------------------------

    def place_for(self, facts: TaskFacts) -> Place | None:
        """What is reserved for a pod: its own place, or that of the slot it fills, which makes way for it."""
        known = self._tasks.get(facts.slot)
        if known is None:
            return None
        place = place_of(known)
        if known.id == facts.id:
            return place
        if known.has_pod:
            return None
        self._cluster.remove_task(known.id)
        return place

    def fill(self, task: Task) -> None:
        """A task speaks for its slot from now on, unless another pod does."""
        known = self._tasks.get(task.slot)
        if known is None or not known.has_pod or known.state not in _FILLING:
            self._tasks[task.slot] = task

    def leave(self, task: Task) -> None:
        if self._tasks.get(task.slot) is task:
            del self._tasks[task.slot]

    def validate(self) -> None:
        for slot, task in self._tasks.items():
            assert self._cluster.tasks.get(task.id) is task, f"{slot} is filled by {task}, which is not there"
            assert task.slot == slot, f"{slot} is filled by {task}, which names {task.slot}"
        for task in self._cluster.tasks.values():
            assert task.has_pod or self._tasks.get(task.slot) is task, f"{task} is a slot that nobody lists"


def place_of(task: Task) -> Place | None:
    return Place(task.cls, task.row, task.devices) if task.state is State.RESERVED else None
