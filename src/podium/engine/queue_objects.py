"""The objects that are queues, and which of their nodes is whose.

Some queues are there without an object; an object of their id stands in for them as long as it exists.  Whose a
node is depends on all objects of a kind (`node_owners.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from podium.core.model.model import Queue
from podium.dialects.dialect import Dialect, QueueKind
from podium.engine.node_owners import NodeOwners
from podium.kube.resources import Resource
from podium.kube.wire import Node, Object
from podium.reasons import Refusal


class QueueObjects:
    """All kinds of queues, of all dialects."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.kinds: dict[Resource, QueueKind] = {k.resource: k for d in dialects for k in d.queues}
        self._speakers = {kind.resource: dialect.name for dialect in dialects for kind in dialect.queues}
        self._owners = {
            resource: NodeOwners(kind.ownership)
            for resource, kind in self.kinds.items()
            if kind.ownership is not None
        }

    @property
    def owning(self) -> set[str]:
        """The dialects whose queues own nodes."""
        return {self._speakers[each] for each, kind in self.kinds.items() if kind.ownership is not None}

    def built_in(self) -> Iterator[Queue]:
        """The queues that are there without an object."""
        for resource, kind in self.kinds.items():
            for queue in kind.built_in:
                yield msgspec.structs.replace(queue, dialect=self._speakers[resource])

    def read(self, resource: Resource, obj: Object) -> tuple[Queue, tuple[Refusal, ...]]:
        queue, faults = self.kinds[resource].read(obj)
        queue.dialect = self._speakers[resource]
        return queue, faults

    def left(self, resource: Resource, obj: Object) -> tuple[str, Queue | None]:
        """The id of the queue whose object is gone, and the one that is there without."""
        id = self.kinds[resource].id(obj.name)
        return id, next((each for each in self.built_in() if each.id == id), None)

    def moved_nodes(self, resource: Resource, before: Object | None, after: Object | None) -> list[str]:
        """The nodes that have changed hands because an object came, went or changed; a status says nothing."""
        owners = self._owners.get(resource)
        if owners is None:
            return []
        same = before is not None and after is not None and before.uid == after.uid
        if same and _spec(before) == _spec(after) and before.deleting == after.deleting:  # type: ignore[union-attr]
            return []
        if after is not None:
            return owners.put(after)
        return owners.drop(before.name) if before is not None else []

    def owner(self, node: Node) -> tuple[str, list[Refusal]]:
        """The queue that a node belongs to, by the first kind that gives it one, and what is wrong with that."""
        found = [each.owner(node) for each in self._owners.values()]
        owner = next((owner for owner, _ in found if owner), "")
        return owner, [fault for _, fault in found if fault is not None]

    def forget_node(self, name: str) -> None:
        for each in self._owners.values():
            each.forget(name)


def _spec(obj: Object | None) -> object:
    return getattr(obj, "spec", None)
