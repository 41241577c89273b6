"""Gangs and queues as the API has them, read by the dialects: the objects alone, and nothing that was summed up.

What a rule expects is worked out from these.  They are read as the scheduler reads them; what it has made of them,
its counts, its model and its decisions, has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.model.facts import GangFacts
from podium.core.model.model import Queue
from podium.dialects.kubernetes.membership import Membership, QueueMark, membership_of, queue_of
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.wire import Node, Object, Pod
from podium.sim.histories.stage import Stage

_PRIORITIES = Priorities()


class Standing:
    """The gangs and queues on a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._marks = [each.marks for each in stage.dialects if each.marks is not None]
        self._groups = [kind for each in stage.dialects for kind in each.groups]
        self._queues = [kind for each in stage.dialects for kind in each.queues]

    def owner_of(self, node: Node) -> str:
        """The id of the queue that a node belongs to; "" for one that is everybody's."""
        for kind in self._queues:
            if kind.owner is not None:
                owner = kind.owner(node, list(self._stage.server.objects(kind.resource)))
                if owner:
                    return owner
        return ""

    def queues(self) -> Iterator[Queue]:
        for kind in self._queues:
            for queue in self._stage.server.objects(kind.resource):
                yield kind.read(queue)[0]

    def gangs(self) -> Iterator[GangFacts]:
        for kind in self._groups:
            for group in self._stage.server.objects(kind.resource):
                yield kind.read(group, _PRIORITIES)[0]

    def membership(self, pod: Pod) -> Membership | None:
        """The group that a pod belongs to, whether it exists or not."""
        found = membership_of(pod, self._marks)
        return found if isinstance(found, Membership) else None

    def gang_of(self, pod: Pod) -> GangFacts | None:
        """The gang of a pod whose group exists."""
        found = self._group_of(pod)
        return found[1] if found is not None else None

    def queue_of(self, pod: Pod) -> str:
        """The id of the queue that a pod counts for; "" for one that names none."""
        found = self._group_of(pod)
        if found is None:
            return self._named(pod)
        return found[1].queue or self._named(found[0]) or self._named_by_members(found[1].id)

    def members(self, gang: str) -> list[Pod]:
        found = ((pod, self.membership(pod)) for pod in self._stage.pods.values())
        return [pod for pod, group in found if group is not None and group.gang == gang]

    def _group_of(self, pod: Pod) -> tuple[Object, GangFacts] | None:
        membership = self.membership(pod)
        if membership is None:
            return None
        namespace, _, name = membership.group.partition("/")
        for kind in self._groups:
            if kind.id(namespace, name) == membership.gang:
                group = self._stage.server.find(kind.resource, namespace, name)
                return (group, kind.read(group, _PRIORITIES)[0]) if group is not None else None
        return None

    def _named(self, obj: Object) -> str:
        found = queue_of(obj, self._marks)
        return found.id if isinstance(found, QueueMark) else ""

    def _named_by_members(self, gang: str) -> str:
        """The oldest member's word counts."""
        members = [pod for pod in self.members(gang) if self._named(pod)]
        oldest = min(members, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name), default=None)
        return self._named(oldest) if oldest is not None else ""
