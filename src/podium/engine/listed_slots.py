"""The slots that groups list (see `core.cluster.slots`): read as pods are, and put into the model.

A group lists its slots anew with every change.  One that is no longer among them is withdrawn; one whose pod is
gone is put back, if its group still lists it.  Slots with claims are read again when volumes change.

A place on a node that is gone or not ready is lost, whether a pod is there or not: its group is told so, and what
becomes of the pod is a matter of its controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.slots import owner_of
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Gang, State
from podium.dialects.dialect import Slot
from podium.dialects.kubernetes.volumes import has_claims
from podium.kube.cache import Key, claims_of
from podium.kube.wire import Pod

# The facts of a slot: its template, its id, and its gang.
ReadSlot = Callable[[Pod, str, str], TaskFacts]
Names = list[str]


class ListedSlots:
    """By gang."""

    def __init__(self, cluster: Cluster, read: ReadSlot) -> None:
        self._cluster = cluster
        self._read = read
        self._listed: dict[str, tuple[Slot, ...]] = {}
        self._by_id: dict[str, Slot] = {}
        # Gangs with slots that have claims: one slot of each template, as it was read.
        self._claiming: dict[str, dict[str, TaskFacts]] = {}
        self._claims: dict[str, set[Key]] = {}  # of these gangs
        self._claimants: dict[Key, set[str]] = {}  # the same by claim

    def list(self, group: GangFacts, slots: tuple[Slot, ...]) -> bool:
        """What a group lists from now on; whether that is something else than before."""
        known = self._listed.get(group.id, ())
        if slots == known:
            return False
        for gone in {each.id for each in known} - {each.id for each in slots}:
            self._cluster.slots.remove(gone)
            self._by_id.pop(gone, None)
        self._listed[group.id] = slots
        self._by_id.update((each.id, each) for each in slots)
        self._follow_claims(group)
        if not slots:
            self._drop_unlisted(group.id)
        self.put(group)
        return True

    def put(self, group: GangFacts) -> None:
        """Puts a group's slots into the model, those that are not there."""
        self._cluster.slots.put_all(self._facts(group, slot) for slot in self._listed.get(group.id, ()))

    def put_again(self, group: GangFacts, id: str) -> bool:
        """The pod of a slot is gone: puts the slot back, if its group still lists it; whether it does."""
        slot = self._by_id.get(id)
        if slot is not None:
            self._cluster.slots.put_all([self._facts(group, slot)])
        return slot is not None

    def is_another_owner_s(self, gang: str, slot: str) -> bool:
        """Whether a slot is not of the object that lists those of a gang, but of one that had its name before."""
        listed = self._listed.get(gang, ())
        return bool(listed) and owner_of(slot) != owner_of(listed[0].id)

    def _facts(self, group: GangFacts, slot: Slot) -> TaskFacts:
        return msgspec.structs.replace(
            self._read(slot.pod, slot.id, group.id),
            namespace=group.namespace,
            name=slot.name,
            role=slot.role,
            created=group.created,
            state=State.RESERVED if slot.node else State.PENDING,
            node=slot.node,
        )

    # --- claims ------------------------------------------------------------------------------------------------

    def _follow_claims(self, group: GangFacts) -> None:
        """Slots of one template have the same claims: one of them speaks for all."""
        self._forget_claims(group.id)
        templates = {id(each.pod): each for each in self._listed[group.id]}
        found = [each for each in templates.values() if has_claims(each.pod)]
        if not found:
            return
        self._claiming[group.id] = {each.id: self._facts(group, each) for each in found}
        self._claims[group.id] = {claim for each in found for claim in claims_of(each.pod)}
        for claim in self._claims[group.id]:
            self._claimants.setdefault(claim, set()).add(group.id)

    def _forget_claims(self, gang: str) -> None:
        self._claiming.pop(gang, None)
        for claim in self._claims.pop(gang, ()):
            gangs = self._claimants[claim]
            gangs.discard(gang)
            if not gangs:
                del self._claimants[claim]

    def claim_changed(self, claim: Key, groups: Mapping[str, GangFacts]) -> Sequence[str]:
        """A claim has come, changed or gone: the gangs with slots to which that makes a difference."""
        return self._read_again(sorted(self._claimants.get(claim, ())), groups)

    def volumes_changed(self, groups: Mapping[str, GangFacts]) -> Sequence[str]:
        """The same for volumes, which may be anybody's."""
        return self._read_again(tuple(self._claiming), groups)

    def _read_again(self, gangs: Iterable[str], groups: Mapping[str, GangFacts]) -> Sequence[str]:
        changed: Names = []
        for gang in gangs:
            known = self._claiming.get(gang)
            if known is None:
                continue
            now = {id: self._facts(groups[gang], self._by_id[id]) for id in known}
            if now != known:
                self._claiming[gang] = now
                self.put(groups[gang])
                changed.append(gang)
        return changed

    # --- places ------------------------------------------------------------------------------------------------

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
        self._forget_claims(gang)
        for slot in self._listed.pop(gang, ()):
            self._cluster.slots.remove(slot.id)
            self._by_id.pop(slot.id, None)
        self._drop_unlisted(gang)

    def _drop_unlisted(self, gang: str) -> None:
        """Slots that were added to an elastic gang and that its object did not come to list."""
        found = self._cluster.gangs.get(gang)
        for task in [each for each in found.tasks.values() if not each.has_pod] if found is not None else ():
            self._cluster.slots.remove(task.slot)
