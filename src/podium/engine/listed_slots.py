"""The slots that groups list (see `core.cluster.slots`): read as pods are, and put into the model.

A group lists its slots anew with every change.  One that is no longer among them is withdrawn; one whose pod is
gone is put back, if its group still lists it.  Slots with claims are read again when volumes change.

A place on a node that is gone or not ready is lost, whether a pod is there or not: its group is told so, and what
becomes of the pod is a matter of its controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Gang, State
from podium.dialects.dialect import Slot
from podium.dialects.kubernetes.volumes import has_claims
from podium.kube.wire import Pod

# The facts of a slot: its template, its id, and its gang.
ReadSlot = Callable[[Pod, str, str], TaskFacts]


class ListedSlots:
    """By gang."""

    def __init__(self, cluster: Cluster, read: ReadSlot) -> None:
        self._cluster = cluster
        self._read = read
        self._listed: dict[str, tuple[Slot, ...]] = {}
        self._claiming: set[str] = set()  # gangs with slots that have claims

    def list(self, group: GangFacts, slots: tuple[Slot, ...]) -> bool:
        """What a group lists from now on; whether that is something else than before."""
        known = self._listed.get(group.id, ())
        if slots == known:
            return False
        for gone in {each.id for each in known} - {each.id for each in slots}:
            self._cluster.slots.remove(gone)
        self._listed[group.id] = slots
        if any(has_claims(each.pod) for each in slots):
            self._claiming.add(group.id)
        else:
            self._claiming.discard(group.id)
        if not slots:
            self._drop_unlisted(group.id)
        self.put(group)
        return True

    def put(self, group: GangFacts) -> bool:
        """Puts a group's slots into the model, those that are not there; whether it has any."""
        listed = self._listed.get(group.id, ())
        self._cluster.slots.put_all(
            msgspec.structs.replace(
                self._read(slot.pod, slot.id, group.id),
                namespace=group.namespace,
                name=slot.name,
                role=slot.role,
                created=group.created,
                state=State.RESERVED if slot.node else State.PENDING,
                node=slot.node,
            )
            for slot in listed
        )
        return bool(listed)

    def put_claiming(self, groups: Mapping[str, GangFacts]) -> Iterable[str]:
        """Volumes have changed: reads slots with claims again; the gangs that have such."""
        for gang in self._claiming:
            self.put(groups[gang])
        return self._claiming

    def places_of(self, gang: Gang) -> dict[str, str]:
        """The nodes of a gang's slots, by slot: reserved for them, or with their pods on them."""
        nodes, tasks = self._cluster.nodes, gang.tasks.values()
        return {
            task.slot: nodes.name(task.row)
            for task in tasks
            if task.slot and task.row >= 0 and nodes.live[task.row]
        }

    def on_node(self, node: str) -> Iterator[str]:
        """The gangs with slots on a node."""
        row = self._cluster.nodes.rows.get(node, -1)
        return (task.gang.id for task in self._cluster.on_row.get(row, {}).values() if task.slot)

    def withdraw(self, gang: str) -> None:
        """A group is gone, and its slots with it."""
        self._claiming.discard(gang)
        for slot in self._listed.pop(gang, ()):
            self._cluster.slots.remove(slot.id)
        self._drop_unlisted(gang)

    def _drop_unlisted(self, gang: str) -> None:
        """Slots that were added to an elastic gang and that its object did not come to list."""
        found = self._cluster.gangs.get(gang)
        for task in [each for each in found.tasks.values() if not each.has_pod] if found is not None else ():
            self._cluster.slots.remove(task.slot)
