"""Which gang a pod belongs to, whatever API it says so in.

Each family reads its own marks.  They are asked in the order of the registry; a pod that names different groups,
in two of them or in two marks of one, is refused with both names, since either choice would be wrong for somebody.
A pod that names none is a gang of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from podium.kube.wire import Pod
from podium.reasons import TWO_GANGS, Refusal, refuse


class Membership(msgspec.Struct, frozen=True):
    """What one family reads on a pod: the group's id in the core, its name, and the pod's part in it."""

    gang: str
    group: str  # namespace and name, for comparison with what other families read
    called: str  # as people call it: "PodGroup a/b of Volcano"
    role: str = ""
    awaited: bool = False  # the pod does not name it: a controller is about to make it


def _nothing(pod: Pod) -> None:
    """What a family says of pods that it does not mark."""


class Marks(msgspec.Struct, frozen=True):
    """What a family reads on pods.  Each function gives None when the pod says nothing."""

    memberships: Callable[[Pod], tuple[Membership, ...]]  # one for each mark, in the family's order
    queue: Callable[[Pod], str | None] = _nothing  # the id of the queue, for a pod that is in no group
    priority: Callable[[Pod], int | None] = _nothing  # inside of the scheduler, in place of the pod's own
    preemptable: Callable[[Pod], bool | None] = _nothing
    gates: frozenset[str] = frozenset()  # scheduling gates that are lifted when the pod's queue has room
    slot: Callable[[Pod], str | None] = _nothing  # the slot that the pod fills: see `core.slots`

    @property
    def has_slots(self) -> bool:
        return self.slot is not _nothing


def lone(pod: Pod) -> str:
    """The id of the gang of a pod that is alone."""
    return f"pod/{pod.uid}"


def membership_of(pod: Pod, families: Sequence[Marks]) -> Membership | Refusal | None:
    """The group of a pod; None for a pod that names none."""
    found: Membership | None = None
    for marks in families:
        for other in marks.memberships(pod):
            if found is None:
                found = other
            elif other.group != found.group:
                return refuse(TWO_GANGS, first=found.called, second=other.called)
    return found


def slot_of(pod: Pod, families: Sequence[Marks]) -> str:
    """The slot that a pod fills; "" for most."""
    return next((slot for marks in families if (slot := marks.slot(pod)) is not None), "")


def queue_of(pod: Pod, families: Sequence[Marks]) -> str | None:
    """The queue that a lone pod names."""
    return next((queue for marks in families if (queue := marks.queue(pod)) is not None), None)
