"""Slots: tasks without a pod, so that a place can be found before there is one.

A job may want its places decided first and its pods created for them.  Such a job lists its slots; each is known
by owner, role and index, and is placed like any task, except that it is reserved where others are bound.  When a
pod comes that names the slot, the two are one task: the pod takes over the place, and the slot counts no longer.
When the pod is gone and the owner still lists the slot, the slot is there again.

    slot, no pod      pending, or reserved on a node
    slot and its pod  one task, the pod's: pending, reserved, then bound as every pod

Pods that a ReplicaSet or a Job makes carry no index: they name owner and role only (`any_slot`), and fill any slot
of these that is free, best the one that is reserved on their node.  When there are fewer slots than pods, as
while a job shrinks, some pods fill none, until one comes free.

Where a slot is reserved stands in the API, with its owner, so a scheduler that starts anew finds it.  While it
runs it knows better than what it has written: the API's word on a slot counts when it is heard for the first time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count as counting
from typing import TYPE_CHECKING

import msgspec

from podium.core.model.facts import TaskFacts
from podium.core.model.model import PLACED, Gang, State, Task, TaskClass

if TYPE_CHECKING:
    from podium.core.cluster.cluster import Cluster

# A pod in one of these speaks for its slot, whoever else names it.
_FILLING = PLACED | {State.PENDING, State.RESERVED, State.PIPELINED, State.SUCCEEDED}
_ANY = "*"


class Place(msgspec.Struct, frozen=True):
    """What was reserved for a task."""

    cls: TaskClass
    row: int
    devices: tuple[int, ...]


def slot_id(owner: str, role: str, index: int) -> str:
    """How a slot is known."""
    return f"slot/{owner}/{role}/{index}"


def any_slot(owner: str, role: str) -> str:
    """What a pod names that fills any slot of an owner and role."""
    return f"slot/{owner}/{role}/{_ANY}"


def is_any(slot: str) -> bool:
    """Whether it stands for any slot of an owner and role."""
    return slot.endswith(_ANY)


def owner_of(slot: str) -> str:
    """Whose slot it is."""
    return slot.split("/", 2)[1]


def _set_of(slot: str) -> str:
    """What the slots of one owner and role begin with."""
    return slot[: slot.rindex("/") + 1]


def _index(slot: str) -> int:
    return int(slot[slot.rindex("/") + 1 :])


class Slots:
    """The one task of each slot: the slot itself, or the pod that fills it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tasks: dict[str, Task] = {}
        self._listed: dict[str, dict[str, None]] = {}  # those that owners list, by set
        self._naming: dict[str, str] = {}  # pods that fill any slot of a set, and which set
        self._unslotted: dict[str, dict[str, Task]] = {}  # those of them that fill none, by set

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
        listed = self._listed.setdefault(_set_of(facts.slot), {})
        first = facts.slot not in listed
        listed[facts.slot] = None
        task = self._tasks.get(facts.slot)
        if task is None:
            return self._cluster.put_task(facts)
        if task.has_pod:
            if first and task.state is State.PENDING and facts.state is State.RESERVED:
                self._cluster.reserve(task, facts.node)
            return task
        node = self._cluster.nodes.name(task.row) if task.row >= 0 else ""
        return self._cluster.put_task(msgspec.structs.replace(facts, state=task.state, node=node))

    def put_all(self, facts: Iterable[TaskFacts]) -> None:
        """The slots of an owner, all that it lists.  Then pods that fill none find theirs."""
        sets: dict[str, None] = {}
        for each in facts:
            self.put(each)
            sets[_set_of(each.slot)] = None
        for group in sets:
            self._match(group)

    def remove(self, slot: str) -> None:
        """Its owner lists a slot no longer.  A pod that fills it stays, and gives back what was only reserved."""
        group = _set_of(slot)
        listed = self._listed.get(group, {})
        listed.pop(slot, None)
        if not listed:
            self._listed.pop(group, None)
        task = self._tasks.get(slot)
        if task is None:
            return
        if not task.has_pod:
            self._cluster.remove_task(task.id)
            return
        self._cluster.release(task)
        if task.id in self._naming:
            del self._tasks[slot]
            task.slot = ""
            self._unslotted.setdefault(group, {})[task.id] = task
            self._match(group)

    # --- more of them, and fewer ---------------------------------------------------------------------------------

    def more(self, like: Task, count: int) -> list[Task]:
        """New slots beside one of an elastic gang, before its owner lists them."""
        assert like.gang.size is not None
        group = _set_of(like.slot or self._naming_of(like))
        stem = like.name.rpartition("-")[0] or like.name
        made: list[Task] = []
        for index in counting(like.gang.size.wanted):
            if len(made) == count:
                break
            slot = f"{group}{index}"
            if slot not in self._tasks:
                made.append(self._make(like, slot, f"{stem}-{index}"))
        return made

    def _make(self, like: Task, slot: str, name: str) -> Task:
        made = Task(slot, like.namespace, name, like.cls, role=like.role, labels=like.labels)
        made.slot, made.has_pod = slot, False
        made.priority, made.created, made.started = like.priority, like.created, like.created
        made.preemptable, made.preempts, made.protected = like.preemptable, like.preempts, like.protected
        self._cluster.peers.join(made)
        self._cluster.tasks[slot] = made
        made.cls.population += 1
        like.gang.add(made)
        self._tasks[slot] = made
        return made

    def trim(self, gang: Gang) -> None:
        """A gang has been asked to have fewer members: slots beyond that which no pod fills are gone."""
        size = gang.size
        assert size is not None
        for task in [each for each in gang.tasks.values() if not each.has_pod and each.role == size.role]:
            if _index(task.slot) >= max(size.wanted, size.least):
                self._cluster.remove_task(task.id)

    def _naming_of(self, task: Task) -> str:
        return self._naming[task.id]

    # --- pods that fill them -------------------------------------------------------------------------------------

    def resolve(self, facts: TaskFacts) -> TaskFacts:
        """A pod that names a set of slots with the one of them that it fills, or with none."""
        if not is_any(facts.slot):
            return facts
        group = self._naming[facts.id] = facts.slot[: -len(_ANY)]
        known = self._cluster.tasks.get(facts.id)
        if facts.state not in _FILLING:
            slot = ""  # another one will be made for the slot, and its place is looked for already
        elif known is not None and known.slot and self._tasks.get(known.slot) is known:
            slot = known.slot
        else:
            slot = self._free_slot(group, facts.node)
        return msgspec.structs.replace(facts, slot=slot)

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

    def seen(self, task: Task, place: Place | None) -> None:
        """A task has been put, for which a place may be kept.

        One that names a set of slots may fill none, or have made room for another one that does not.
        """
        if task.slot:
            self.fill(task)
        self._take_over(task, place)
        group = self._naming.get(task.id)
        if group is None:
            return
        if not task.slot:
            self._unslotted.setdefault(group, {})[task.id] = task
        if self._unslotted.get(group):
            self._match(group)

    def gone(self, task: Task) -> None:
        """A pod is gone."""
        group = self._naming.pop(task.id, None)
        if group is not None:
            self._drop_unslotted(group, task)

    def _drop_unslotted(self, group: str, task: Task) -> None:
        waiting = self._unslotted.get(group, {})
        waiting.pop(task.id, None)
        if not waiting:
            self._unslotted.pop(group, None)

    def _is_free(self, slot: str) -> bool:
        task = self._tasks.get(slot)
        return task is None or not task.has_pod or task.state not in _FILLING

    def _free_slot(self, group: str, node: str, *, exact: bool = False) -> str:
        """The best free slot of a set for a pod on a node, or on none yet; "" if there is none."""
        row, best, least = self._cluster.nodes.rows.get(node, -1), "", 4
        for slot in self._listed.get(group, ()):
            task = self._tasks.get(slot)
            if task is not None and task.has_pod and task.state in _FILLING:
                continue
            reserved = task is not None and not task.has_pod and task.state is State.RESERVED
            if reserved and task is not None and (row < 0 or task.row == row):
                return slot  # nothing can be better
            rank = 3 if reserved else 2 if task is not None and task.has_pod else 1
            if not exact and rank < least:
                best, least = slot, rank
        return best

    def _match(self, group: str) -> None:
        """Pods that fill no slot take those that are free: first the ones on the nodes that are reserved."""
        waiting = self._unslotted.get(group)
        if not waiting or not any(map(self._is_free, self._listed.get(group, ()))):
            return  # thousands may name a set in which nothing is free
        for exact in (True, False):
            for task in list(self._unslotted.get(group, {}).values()):
                if task.state not in _FILLING:
                    continue
                node = self._cluster.nodes.name(task.row) if task.row >= 0 else ""
                slot = self._free_slot(group, node, exact=exact)
                if slot:
                    self._attach(task, slot, group)

    def _attach(self, task: Task, slot: str, group: str) -> None:
        known = self._tasks.get(slot)
        place = place_of(known) if known is not None and not known.has_pod else None
        if known is not None and not known.has_pod:
            self._cluster.remove_task(known.id)
        self._drop_unslotted(group, task)
        task.slot = slot
        self._tasks[slot] = task
        self._take_over(task, place)

    def _take_over(self, task: Task, place: Place | None) -> None:
        """A task that waits gets the place that was reserved for it, or for its slot, if it may and can: it may
        ask for something else than the one before it, or be in a gang that is not there."""
        cluster = self._cluster
        if place is None or task.state is not State.PENDING or task.gated or task.gang.id not in cluster.gangs:
            return
        if place.cls is task.cls or cluster.nodes.fits_row(task.cls.request, place.row):
            cluster.assign(task, State.RESERVED, place.row, place.devices)

    def validate(self) -> None:
        for slot, task in self._tasks.items():
            assert self._cluster.tasks.get(task.id) is task, f"{slot} is filled by {task}, which is not there"
            assert task.slot == slot, f"{slot} is filled by {task}, which names {task.slot}"
        for task in self._cluster.tasks.values():
            assert task.has_pod or self._tasks.get(task.slot) is task, f"{task} is a slot that nobody lists"
        for group, waiting in self._unslotted.items():
            for id, task in waiting.items():
                assert self._cluster.tasks.get(id) is task, f"{task} fills none of {group}, and is not there"
                assert not task.slot, f"{task} fills {task.slot}, and counts as if it did not"


def place_of(task: Task) -> Place | None:
    return Place(task.cls, task.row, task.devices) if task.state is State.RESERVED else None
