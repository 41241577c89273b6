"""Which gang a pod belongs to, and which queue, whatever API it says so in.

Each dialect reads its own marks.  They are asked in the order of the registry; a pod that names different groups,
in two of them or in two marks of one, is refused with both names, since either choice would be wrong for somebody.
A group that a pod names goes before one that a controller would make for it; a pod with neither is a gang of one.

A queue is named likewise, by a pod or by a group whose own API has no queues: any dialect's mark counts, on
whatever it stands.
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


def _nothing(obj: Object) -> None:
    """What a dialect says of objects that it does not mark."""


class Marks(msgspec.Struct, frozen=True):
    """What a dialect reads on pods.  Each function gives None when the pod says nothing."""

    memberships: Callable[[Pod], tuple[Membership, ...]]  # one for each mark, in the dialect's order
    queue: Callable[[Object], QueueMark | None] = _nothing  # on pods, and on groups whose own API has none
    priority: Callable[[Pod], int | None] = _nothing  # inside of the scheduler, in place of the pod's own
    sub_priority: Callable[[Pod], int | None] = _nothing  # among pods of equal priority
    preemptable: Callable[[Pod], bool | None] = _nothing
    gates: frozenset[str] = frozenset()  # scheduling gates that are lifted when the pod's queue has room
    slot: Callable[[Pod], str | None] = _nothing  # the slot that the pod fills: see `core.slots`

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
