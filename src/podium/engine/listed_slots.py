"""The slots that groups list (see `core.cluster.slots`): read as pods are, and put into the model.

A group lists its slots anew with every change.  One that is no longer among them is withdrawn; one whose pod is
gone is put back, if its group still lists it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import State
from podium.dialects.dialect import Slot
from podium.kube.wire import Pod

# The facts of a slot: its template, its id, and its gang.
ReadSlot = Callable[[Pod, str, str], TaskFacts]


class ListedSlots:
    """By gang."""

    def __init__(self, cluster: Cluster, read: ReadSlot) -> None:
        self._cluster = cluster
        self._read = read
        self._listed: dict[str, tuple[Slot, ...]] = {}

    def list(self, group: GangFacts, slots: tuple[Slot, ...]) -> bool:
        """What a group lists from now on; whether that is something else than before."""
        known = self._listed.get(group.id, ())
        if slots == known:
            return False
        for gone in {each.id for each in known} - {each.id for each in slots}:
            self._cluster.slots.remove(gone)
        self._listed[group.id] = slots
        self.put(group)
        return True

    def put(self, group: GangFacts) -> bool:
        """Puts a group's slots into the model, those that are not there; whether it has any."""
        listed = self._listed.get(group.id, ())
        for slot in listed:
            facts = msgspec.structs.replace(
                self._read(slot.pod, slot.id, group.id),
                namespace=group.namespace,
                name=slot.name,
                role=slot.role,
                created=group.created,
                state=State.RESERVED if slot.node else State.PENDING,
                node=slot.node,
            )
            self._cluster.slots.put(facts)
        return bool(listed)

    def withdraw(self, gang: str) -> None:
        """A group is gone, and its slots with it."""
        for slot in self._listed.pop(gang, ()):
            self._cluster.slots.remove(slot.id)
