"""Keeps the model in step with the API: observed objects in, facts for the core out.

Everything is level-triggered.  An object is read anew whenever it, or something it is read with, changes: a pod
with its claims, a node with its drivers, a group with the priority classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from podium.core.cluster import Cluster
from podium.core.model import Queue, State
from podium.dialects.dialect import Dialect, GroupKind, QueueKind
from podium.dialects.kubernetes.nodes import read_node
from podium.dialects.kubernetes.policies import Priorities, object_id, read_budget, read_quota
from podium.dialects.kubernetes.translate import PodReader
from podium.engine.effects import GANG_PLAN
from podium.engine.flights import Bound
from podium.engine.recovery import Plan, read_plan
from podium.kube import resources as r
from podium.kube.cache import Cache
from podium.kube.resources import Resource
from podium.kube.wire import (
    CSINode,
    Namespace,
    Node,
    Object,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)

# What pods are read with beside themselves.
_STORAGE = (r.PERSISTENTVOLUMECLAIMS, r.PERSISTENTVOLUMES, r.STORAGECLASSES)

# The queue of pods whose profile has none of its own.
NO_QUEUE = Queue("", "none")


class World:
    """The model, and what it was made from."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.cluster = Cluster()
        self.cluster.put_queue(NO_QUEUE)
        self.cache = Cache()
        self.groups: dict[Resource, GroupKind] = {k.resource: k for d in dialects for k in d.groups}
        self.queues: dict[Resource, QueueKind] = {k.resource: k for d in dialects for k in d.queues}
        marks = [dialect.marks for dialect in dialects if dialect.marks is not None]
        defaults = {name: queue for dialect in dialects for name, queue in dialect.default_queues.items()}
        self._reader = PodReader(marks, defaults, self.cache)
        self._priorities = Priorities()
        self.plans: dict[str, Plan] = {}  # of bound pods, by task
        self._profiles: dict[str, str] = {}  # of gangs, as their members say it
        self.views: dict[Resource, type[Object]] = {
            definition.resource: definition.view for dialect in dialects for definition in dialect.definitions
        }
        self.resources: set[Resource] = {
            r.PODS,
            r.NODES,
            r.NAMESPACES,
            r.PRIORITYCLASSES,
            r.PODDISRUPTIONBUDGETS,
            r.RESOURCEQUOTAS,
            r.CSINODES,
            *_STORAGE,
            *self.groups,
            *self.queues,
        }

    def observe(self, resource: Resource, obj: Object, sent: Mapping[str, Bound]) -> bool:
        """Takes an object in; whether a decision may come out differently now."""
        if self.cache.apply(resource, obj) is obj:
            return False  # older than what is known
        if isinstance(obj, Pod):
            self._read_pod(obj, sent)
        elif isinstance(obj, Node):
            self._read_node(obj)
        elif resource in self.groups:
            self._read_group(resource, obj)
        elif resource in self.queues:
            self.cluster.put_queue(self.queues[resource].read(obj)[0])
        else:
            self._read_other(resource, obj, sent)
        return True

    def reread(self, pod: Pod, sent: Mapping[str, Bound]) -> None:
        """Takes a pod for what it is, also when nothing about it is new: a bind for it has been given up."""
        self.cache.apply(r.PODS, pod)
        self._read_pod(pod, sent)

    def forget(self, resource: Resource, obj: Object) -> bool:
        """An object is gone."""
        known = self.cache.get(resource, obj.namespace, obj.name)
        if known is not None and known.uid != obj.uid:
            return False  # its name has been taken over already
        self.cache.remove(resource, (obj.namespace, obj.name))
        if isinstance(obj, Pod):
            self.plans.pop(obj.uid, None)
            self.cluster.remove_task(obj.uid)
            self.cluster.remove_gang(f"pod/{obj.uid}")
        elif isinstance(obj, Node):
            if obj.name in self.cluster.nodes.rows:
                self.cluster.remove_node(obj.name)
        elif resource in self.groups:
            self.cluster.remove_gang(self.groups[resource].id(obj.namespace, obj.name))
        elif resource in self.queues:
            self.cluster.remove_queue(self.queues[resource].id(obj.name))
        elif isinstance(obj, PodDisruptionBudget):
            self.cluster.remove_budget(object_id(obj.namespace, obj.name))
        elif isinstance(obj, ResourceQuota):
            self.cluster.remove_quota(object_id(obj.namespace, obj.name))
        return True

    def _read_pod(self, pod: Pod, sent: Mapping[str, Bound]) -> None:
        facts = self._reader.read(pod)
        task = facts.task
        bound = sent.get(pod.uid)
        if bound is not None and task.state is State.PENDING:
            # The watch is behind: the bind has been sent, and holds its room until it is answered.
            task = msgspec.structs.replace(task, state=State.BINDING, node=bound.node)
        plan = read_plan(pod.annotations.get(GANG_PLAN, ""))
        if plan is not None:
            self.plans[pod.uid] = plan
        if facts.gang is not None:
            self.cluster.put_gang(facts.gang)
        self.cluster.put_task(task)
        self._profiles.setdefault(task.gang, facts.profile)
        gang = self.cluster.gangs.get(task.gang)
        if gang is not None:
            gang.profile = self._profiles[task.gang]

    def _read_node(self, node: Node) -> None:
        drivers = self.cache.find(r.CSINODES, CSINode, ("", node.name))
        self.cluster.put_node(read_node(node, drivers).facts)

    def _read_group(self, resource: Resource, obj: Object) -> None:
        facts, _ = self.groups[resource].read(obj, self._priorities)
        gang = self.cluster.put_gang(facts)
        gang.profile = self._profiles.get(gang.id, gang.profile)

    def _read_other(self, resource: Resource, obj: Object, sent: Mapping[str, Bound]) -> None:
        if isinstance(obj, PodDisruptionBudget):
            self.cluster.put_budget(read_budget(obj))
        elif isinstance(obj, ResourceQuota):
            self.cluster.put_quota(read_quota(obj))
        elif isinstance(obj, Namespace):
            self.cluster.put_namespace(obj.name, obj.labels)
        elif isinstance(obj, CSINode):
            node = self.cache.find(r.NODES, Node, ("", obj.name))
            if node is not None:
                self._read_node(node)
        elif isinstance(obj, PriorityClass):
            classes = (each for each in self.cache.all(r.PRIORITYCLASSES) if isinstance(each, PriorityClass))
            self._priorities = Priorities(classes)
            for kind in self.groups:
                for group in self.cache.all(kind):
                    self._read_group(kind, group)
        elif resource in _STORAGE:
            for task in list(self.cluster.tasks.values()):
                pod = self.cache.find(r.PODS, Pod, (task.namespace, task.name))
                if task.state is State.PENDING and pod is not None and pod.spec.volumes:
                    self._read_pod(pod, sent)
