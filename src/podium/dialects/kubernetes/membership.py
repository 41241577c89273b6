"""Which gang a pod belongs to, and which queue, whatever API it says so in.

Each dialect reads its own marks.  They are asked in the order of the registry; a pod that names different groups,
in two of them or in two marks of one, is refused with both names, since either choice would be wrong for somebody.
A group that a pod names goes before one that a controller would make for it; a pod with neither is a gang of one.

A queue is named likewise, by a pod or by a group whose own API has no queues: any dialect's mark counts, on
whatever it stands.  Where the group's API has queues and the group names none of them, marks count that say so
(`QueueMark.over_usual`).

Most pods carry the marks of one dialect, and a burst has many of one template.  So a dialect says by which signs a
pod may carry its marks, and others are not asked about it (`MarkReader`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from podium.kube.wire import Object, Pod
from podium.reasons import TWO_GANGS, TWO_QUEUES, Refusal, refuse


class Membership(msgspec.Struct, frozen=True):
    """What one family reads on a pod: the group's id in the core, its name, and the pod's part in it."""

    gang: str
    group: str  # namespace and name, for comparison with what other families read
    called: str  # as people call it: the kind, namespace and name, and whose kind it is
    role: str = ""
    awaited: bool = False  # the pod does not name it: a controller is about to make it


class QueueMark(msgspec.Struct, frozen=True):
    """The queue that an object names: its id in the core, its name, and what people call it."""

    id: str
    name: str
    called: str
    otherwise: str = ""  # the id of the queue that serves instead while there is none of this name
    over_usual: bool = False  # it goes before the queue in which its group is because that names none


class Signs(msgspec.Struct, frozen=True):
    """What of a pod tells whose marks it may carry: the same for all pods of a template."""

    keys: frozenset[str]  # of its labels and annotations
    controller: str  # the kind of who controls it, "" for nobody
    scheduler: str  # the name that it asks for
    grouped: bool  # whether its spec names a group


def slot_owner(namespace: str, uid: str) -> str:
    """Whose slots they are.  With the namespace: pods of another one cannot take them by naming the owner."""
    return f"{namespace}.{uid}"


def _nothing(obj: Object) -> None:
    """What a dialect says of objects that it does not mark."""


def _none(pod: Pod) -> tuple[Membership, ...]:
    """The groups of pods for a dialect that marks none."""
    return ()


def _any(signs: Signs) -> bool:
    """A dialect that does not say where its marks are is asked about every pod."""
    return True


def bearing(*keys: str) -> Callable[[Signs], bool]:
    """Pods with one of these labels or annotations."""
    wanted = frozenset(keys)
    return lambda signs: not wanted.isdisjoint(signs.keys)


class Marks(msgspec.Struct, frozen=True):
    """What a dialect reads on pods.  Each function gives None when the pod says nothing."""

    memberships: Callable[[Pod], tuple[Membership, ...]] = _none  # one for each mark, in the dialect's order
    queue: Callable[[Object], QueueMark | None] = _nothing  # on pods, and on groups whose own API has none
    priority: Callable[[Pod], int | None] = _nothing  # inside of the scheduler, in place of the pod's own
    sub_priority: Callable[[Pod], int | None] = _nothing  # among pods of equal priority
    preemptable: Callable[[Pod], bool | None] = _nothing
    gates: frozenset[str] = frozenset()  # scheduling gates that are lifted when the pod's queue has room
    slot: Callable[[Pod], str | None] = _nothing  # the slot that the pod fills: see `core.slots`
    concerns: Callable[[Signs], bool] = _any  # whether pods with such signs may carry any of these marks

    @property
    def has_slots(self) -> bool:
        return self.slot is not _nothing


def lone(pod: Pod) -> str:
    """The id of the gang of a pod that is alone."""
    return f"pod/{pod.uid}"


def membership_of(pod: Pod, dialects: Sequence[Marks]) -> Membership | Refusal | None:
    """The group of a pod; None for a pod that names none."""
    found: Membership | None = None
    for marks in dialects:
        for other in marks.memberships(pod):
            if found is None or (found.awaited and not other.awaited):
                found = other
            elif other.group != found.group and not other.awaited:
                return refuse(TWO_GANGS, first=found.called, second=other.called)
    return found


def slot_of(pod: Pod, dialects: Sequence[Marks]) -> str:
    """The slot that a pod fills; "" for most."""
    return next((slot for marks in dialects if (slot := marks.slot(pod)) is not None), "")


def queue_of(obj: Object, dialects: Sequence[Marks]) -> QueueMark | Refusal | None:
    """The queue that an object names; None for one that names none."""
    found: QueueMark | None = None
    for marks in dialects:
        other = marks.queue(obj)
        if found is None:
            found = other
        elif other is not None and other.id != found.id:
            return refuse(TWO_QUEUES, first=found.called, second=other.called)
    return found


# --- whom to ask -------------------------------------------------------------------------------------------

# Templates remembered.  A cluster has hundreds; one that has more starts over now and then.
_REMEMBERED = 16_384


class Asked(msgspec.Struct, frozen=True):
    """Those who may have something to say of a pod, by what they are asked."""

    members: tuple[Marks, ...]
    queues: tuple[Marks, ...]
    priorities: tuple[Callable[[Pod], int | None], ...]
    sub_priorities: tuple[Callable[[Pod], int | None], ...]
    preemptable: tuple[Callable[[Pod], bool | None], ...]
    slots: tuple[Marks, ...]


class MarkReader:
    """Knows which dialects to ask about a pod."""

    def __init__(self, dialects: Sequence[Marks]) -> None:
        self._dialects = tuple(dialects)
        self._asked: dict[tuple[object, ...], Asked] = {}

    def asked_about(self, pod: Pod) -> Asked:
        metadata, spec = pod.metadata, pod.spec
        owner, grouped = metadata.controller, spec.scheduling_group is not None
        kind = owner.kind if owner is not None else ""
        key = (*(metadata.annotations or ()), None, *(metadata.labels or ()), kind, spec.scheduler_name, grouped)
        found = self._asked.get(key)
        if found is None:
            if len(self._asked) >= _REMEMBERED:
                self._asked.clear()
            keys = frozenset(metadata.annotations or ()) | frozenset(metadata.labels or ())
            found = self._asked[key] = self._choose(Signs(keys, kind, spec.scheduler_name, grouped))
        return found

    def _choose(self, signs: Signs) -> Asked:
        chosen = [marks for marks in self._dialects if marks.concerns(signs)]
        return Asked(
            members=tuple(marks for marks in chosen if marks.memberships is not _none),
            queues=tuple(marks for marks in chosen if marks.queue is not _nothing),
            priorities=tuple(marks.priority for marks in chosen if marks.priority is not _nothing),
            sub_priorities=tuple(marks.sub_priority for marks in chosen if marks.sub_priority is not _nothing),
            preemptable=tuple(marks.preemptable for marks in chosen if marks.preemptable is not _nothing),
            slots=tuple(marks for marks in chosen if marks.has_slots),
        )
