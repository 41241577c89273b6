"""Gangs and queues as the API has them, read by the dialects: the objects alone, and nothing that was summed up.

What a rule expects is worked out from these.  They are read as the scheduler reads them; what it has made of them,
its counts, its model and its decisions, has no part in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

import msgspec

from podium.core.model.facts import GangFacts
from podium.core.model.model import Queue
from podium.dialects.dialect import GatheredKind, Gathering
from podium.dialects.kubernetes.membership import Membership, QueueMark, membership_of, queue_of
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.pod_resources import Amounts, pod_requests
from podium.kube.wire import Node, Object, Pod
from podium.sim.histories.stage import Stage

_PRIORITIES = Priorities()


class Standing:
    """The gangs and queues on a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._marks = [each.marks for each in stage.dialects if each.marks is not None]
        self._groups = [kind for each in stage.dialects for kind in each.groups]
        self._requests: dict[str, Amounts] = {}
        self._queues = [kind for each in stage.dialects for kind in each.queues]

    def owner_of(self, node: Node) -> str:
        """The id of the queue that a node belongs to; "" for one that is everybody's."""
        for kind in self._queues:
            if kind.ownership is not None:
                owner = kind.ownership.owner(self._stage.server.objects(kind.resource), node)
                if owner:
                    return owner
        return ""

    def queues(self) -> Iterator[Queue]:
        """Those that have an object, and those that are there without."""
        for dialect in self._stage.dialects:
            for kind in dialect.queues:
                found = {queue.id: queue for queue in kind.built_in}
                found |= {
                    queue.id: queue
                    for queue in (kind.read(each)[0] for each in self._stage.server.objects(kind.resource))
                }
                for queue in found.values():
                    yield msgspec.structs.replace(queue, dialect=dialect.name)

    def home_of(self, pod: Pod, queues: Container[str]) -> str:
        """The queue that a pod is in, where the one that it names need not exist."""
        mark = self._mark_of(pod)
        if mark is not None:
            return mark.id if mark.id in queues else mark.otherwise or mark.id
        return self.queue_of(pod) if self._group_of(pod) is not None else self._usual_queue(pod)

    def gangs(self) -> Iterator[GangFacts]:
        gathered: dict[str, tuple[GatheredKind, str, str]] = {}
        for kind in self._groups:
            for group in self._stage.server.objects(kind.resource):
                if kind.gathered is None:
                    yield kind.read(group, _PRIORITIES)[0]
                else:
                    id = kind.id(group.namespace, group.name)
                    gathered[id] = kind.gathered, group.namespace, group.name
        for pod in self._stage.pods.values():
            membership = self.membership(pod)
            described = self._gathered_kind(membership.gang) if membership is not None else None
            if membership is not None and described is not None:
                namespace, _, name = membership.group.partition("/")
                gathered[membership.gang] = described, namespace, name
        for described, namespace, name in gathered.values():
            facts = self._gather(described, namespace, name)[1]
            if facts is not None:
                yield facts

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
        mark = self._mark_of(pod)
        if mark is not None:
            return mark.id
        found = self._group_of(pod)
        if found is None:
            return self._usual_queue(pod)
        return found[1].queue or next(filter(None, map(self._usual_queue, self._by_age(found[1].id))), "")

    def members(self, gang: str) -> list[Pod]:
        found = ((pod, self.membership(pod)) for pod in self._stage.pods.values())
        return [pod for pod, group in found if group is not None and group.gang == gang]

    def asked(self, pod: Pod) -> Amounts:
        found = self._requests.get(pod.uid)
        if found is None:
            found = self._requests[pod.uid] = pod_requests(pod.spec)
        return found

    def used_on(self, node: str) -> Counter[str]:
        used: Counter[str] = Counter()
        for pod in self._stage.pods.values():
            if pod.spec.node_name == node and not pod.finished:
                used.update(self.asked(pod))
                used["pods"] += 1
        return used

    def members_bound(self, gang: str) -> int:
        """Members with a place, and those that have done their work."""
        members = self.members(gang)
        return sum(pod.status.phase == "Succeeded" or (holds(pod) and not pod.deleting) for pod in members)

    def holding(self, gang: str) -> bool:
        """Whether a member holds a place and stays."""
        return any(holds(pod) and not pod.deleting for pod in self.members(gang))

    def partners(self, gang: str, *, bound: bool = False) -> set[str]:
        """The gangs that start with one, itself included; `bound`: those that have their minimum."""
        gangs = {each.id: each for each in self.gangs()}
        found, ahead = {gang}, [gang]
        while ahead:
            for id in gangs[ahead.pop()].together:
                if id in gangs and id not in found:
                    found.add(id)
                    ahead.append(id)
        return {id for id in found if not bound or self.members_bound(id) >= gangs[id].minimum}

    def _gathered_kind(self, gang: str) -> GatheredKind | None:
        kinds = (kind.gathered for kind in self._groups if kind.gathered is not None)
        return next((kind for kind in kinds if gang.startswith(kind.prefix)), None)

    def _gather(self, kind: GatheredKind, namespace: str, name: str) -> tuple[Object | None, GangFacts | None]:
        """A gang that its pods describe: its object, and what it and the oldest pod say."""
        resources = [each.resource for each in self._groups if each.gathered is kind]
        found = (self._stage.server.find(each, namespace, name) for each in resources)
        group = next((each for each in found if each is not None), None)
        pods = sorted(
            self.members(kind.id(namespace, name)),
            key=lambda each: (each.metadata.creation_timestamp or "", each.name),
        )
        own = group is not None and kind.describes(group)
        speaker = next((pod for pod in pods if own or kind.speaks(pod)), pods[0] if pods else None)
        expired = any(map(kind.expired, pods))
        reading = kind.read(Gathering(namespace, name, group, speaker, expired), _PRIORITIES)
        facts = reading.facts
        return group, None if facts is None else msgspec.structs.replace(facts, fault=reading.fault)

    def _group_of(self, pod: Pod) -> tuple[Object | None, GangFacts] | None:
        membership = self.membership(pod)
        if membership is None:
            return None
        namespace, _, name = membership.group.partition("/")
        described = self._gathered_kind(membership.gang)
        if described is not None:
            obj, facts = self._gather(described, namespace, name)
            return (obj, facts) if facts is not None else None
        for kind in self._groups:
            if kind.id(namespace, name) == membership.gang:
                group = self._stage.server.find(kind.resource, namespace, name)
                return (group, kind.read(group, _PRIORITIES)[0]) if group is not None else None
        return None

    def _mark_of(self, pod: Pod) -> QueueMark | None:
        """The mark that says in which queue a pod is: its own, or the first of its group, of the templates where
        places are found before pods, and of the members by age."""
        found, membership = self._group_of(pod), self.membership(pod)
        if found is None:  # what is in a group that is not there counts where its pods say
            pods = self._by_age(membership.gang) if membership is not None else [pod]
            named = sorted(filter(None, map(self._mark, pods)), key=lambda mark: not mark.over_usual)
            return next(iter(named), None)
        group, gang = found
        if gang.queue and not gang.usual_queue:
            return None
        objects = [
            *([group, *self._templates(group, gang.id)] if group is not None else ()),
            *self._by_age(gang.id),
        ]
        marks = filter(None, map(self._mark, objects))
        return next((mark for mark in marks if mark.over_usual or not gang.queue), None)

    def _mark(self, obj: Object) -> QueueMark | None:
        found = queue_of(obj, self._marks)
        return found if isinstance(found, QueueMark) else None

    def _templates(self, group: Object, gang: str) -> Iterator[Pod]:
        for kind in self._groups:
            if kind.slots is not None and kind.id(group.namespace, group.name) == gang:
                yield from (slot.pod for slot in kind.slots(group))

    def _by_age(self, gang: str) -> list[Pod]:
        return sorted(self.members(gang), key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))

    def _usual_queue(self, pod: Pod) -> str:
        """The queue of its scheduler's pods that name none."""
        defaults = (each.default_queues.get(pod.spec.scheduler_name) for each in self._stage.dialects)
        return next(filter(None, defaults), "")


def holds(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not pod.finished
