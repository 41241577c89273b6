"""Keeps the model in step with the API: observed objects in, facts for the core out.

Everything is level-triggered.  An object is read anew whenever it, or something it is read with, changes: a pod
with its claims, a node with its drivers, a group with the priority classes.  What many pods are read with may
change often, so they are marked, and read again before the next turn.

What has been sent counts as well, though no pod shows it yet: a watch that is behind cannot take a place back that
a bind has been sent for, nor make one stay that is being evicted.  The answer to it, or the pod itself, does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import islice

import msgspec

from podium.core.cluster.slots import owner_of
from podium.core.model.facts import GangFacts
from podium.core.model.model import HOLDING, ON_NODE, Gang, Queue, State, Task
from podium.dialects.dialect import Dialect
from podium.dialects.kubernetes.nodes import read_node
from podium.dialects.kubernetes.policies import (
    Priorities,
    namespace_weights,
    object_id,
    read_budget,
    read_quota,
)
from podium.engine.claiming import ClaimingPods
from podium.engine.effects import GANG_PLAN
from podium.engine.groups import Groups
from podium.engine.queue_objects import QueueObjects
from podium.engine.queue_reports import QueueReports
from podium.engine.records import Bound, Standing, standing_of
from podium.engine.recovery import bound_at, read_plan
from podium.engine.requeue import ClusterEvents
from podium.kube import resources as r
from podium.kube.cache import key_of
from podium.kube.resources import Resource
from podium.kube.wire import (
    CSINode,
    Namespace,
    Node,
    Object,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from podium.reasons import GROUP_AWAITED, NO_GANG, Refusal, refuse

# What pods are read with beside themselves.
_STORAGE = (r.PERSISTENTVOLUMECLAIMS, r.PERSISTENTVOLUMES, r.STORAGECLASSES)

# The queue of pods whose profile has none of its own.
NO_QUEUE = Queue("", "none")


class World(Groups):
    """The model, and what it was made from."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        super().__init__(dialects)
        self.cluster.put_queue(NO_QUEUE)
        self.queue_objects = QueueObjects(dialects)
        self.queues = self.queue_objects.kinds
        for queue in self.queue_objects.built_in():
            self.cluster.put_queue(queue)
        self._node_groups = tuple(dialect.node_group for dialect in dialects if dialect.node_group)
        self._weight_names = {dialect.namespace_weight for dialect in dialects} - {""}
        self.reports = QueueReports(self.cluster)
        self.assumed: dict[str, Bound] = {}  # binds under way, or held for volumes, that do not show yet, by task
        self.evicting: dict[str, int | None] = {}  # tasks whose eviction was sent, with what grace: not seen yet
        self._claiming = ClaimingPods(self.cache)
        self._remembered = False  # whether gangs that were satisfied before the start are known as such
        self._quotas_moved = False
        self.refused: dict[str, Refusal] = {}  # pods that can never be placed as they are, by task
        self._changed_refusals: dict[str, None] = {}  # those of which that is news, in order
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

    def serve(self, profiles: Container[str]) -> None:
        """Says which profiles there are: members of a gang that ask for others are left to others."""
        self._profiles.serve(profiles)
        for gang in self._profiles:
            self._reread_members(gang)
        for gathered in list(self._gathered):
            self._read_gathered(gathered)  # what holds where it says nothing may be another thing

    def take_moved(self) -> dict[str, None]:
        """The gangs whose members have come further, or gone, since the last time."""
        moved, self.moved = self.moved, {}
        return moved

    def take_cluster_events(self) -> ClusterEvents:
        """What has happened since the last time."""
        cluster_events, self.cluster_events = self.cluster_events, ClusterEvents()
        return cluster_events

    def observe(self, resource: Resource, obj: Object) -> None:
        """Takes an object in."""
        known = resource in self.queues or resource in self.groups
        before = self.cache.get(resource, obj.namespace, obj.name) if known else None
        if self.cache.apply(resource, obj) is obj:
            return  # older than what is known
        if before is not None and before.uid != obj.uid and resource in self.groups:
            self._forget_group(resource, before)  # of the same name; what was decided was about that one
        if isinstance(obj, Pod):
            self._read_pod(obj)
        elif isinstance(obj, Node):
            self._read_node(obj)
        elif resource in self.groups:
            self._read_group(resource, obj)
        elif resource in self.queues:
            queue, faults = self.queue_objects.read(resource, obj)
            for fault in faults:
                self.blame(resource, obj, fault)
            self._read_queue(queue)
            self._reread_owners(self.queue_objects.moved_nodes(resource, before, obj))
        else:
            self._read_other(resource, obj)

    def reread(self, pod: Pod) -> None:
        """Takes a pod for what it is, also when nothing about it is new: a bind for it has been given up."""
        self.cache.apply(r.PODS, pod)
        # The watch may have brought a newer one while the read was under way.
        newest = self.cache.find(r.PODS, Pod, key_of(pod))
        self._read_pod(newest if newest is not None else pod)

    def forget(self, resource: Resource, obj: Object) -> None:
        """An object is gone: whatever it was, it may have been in somebody's way."""
        self.assumed.pop(obj.uid, None)
        known = self.cache.get(resource, obj.namespace, obj.name)
        if known is not None and known.uid != obj.uid:
            return  # its name has been taken over already
        self.cache.remove(resource, (obj.namespace, obj.name))
        self.cluster_events.room = True
        if isinstance(obj, Pod):
            self.plans.pop(obj.uid, None)
            self.evicting.pop(obj.uid, None)
            self._claiming.forget(obj.uid)
            self.refused.pop(obj.uid, None)
            task = self.cluster.tasks.get(obj.uid)
            if task is not None:
                self.moved[task.gang.id] = None
            self.cluster.remove_task(obj.uid)
            self._named_queues.drop_member(obj.uid)
            for gathered in self._gathered.drop(obj.uid):
                self._read_gathered(gathered)
            if task is not None and not task.gang.tasks:
                task.gang.satisfied_once = False
            if task is not None:
                self._requeue(task.gang.id)
            self.cluster.remove_gang(f"pod/{obj.uid}")
            if task is not None:
                self._forget_profile(task.gang.id)
                self._put_slot_again(task.gang.id, task.slot)
        elif isinstance(obj, Node):
            self.cluster_events.nodes = True
            self.queue_objects.forget_node(obj.name)
            if obj.name in self.cluster.nodes.rows:
                self.moved |= dict.fromkeys(self._slots.on_node(obj.name))
                self.cluster.remove_node(obj.name)
        elif resource in self.groups:
            self._forget_group(resource, obj)
        elif resource in self.queues:
            id, instead = self.queue_objects.left(resource, obj)
            if instead is not None:
                self._read_queue(instead)
            else:
                self._moved_gangs(self.cluster.remove_queue(id))
            self._reread_owners(self.queue_objects.moved_nodes(resource, obj, None))
        elif isinstance(obj, PodDisruptionBudget):
            self.cluster.remove_budget(object_id(obj.namespace, obj.name))
        elif isinstance(obj, ResourceQuota):
            self.cluster.remove_quota(object_id(obj.namespace, obj.name))
            self._quotas_moved = True
        elif resource in _STORAGE:
            self._storage_changed(obj)

    def pod_of(self, task: Task) -> Pod | None:
        """The pod of a task as it was last seen, or of another one by its name."""
        return self.cache.find(r.PODS, Pod, (task.namespace, task.name))

    def _put_slot_again(self, gang: str, slot: str) -> None:
        """A pod has left its slot: if its group still lists the slot, that waits for another pod."""
        group = self._group_facts.get(gang) if slot else None
        if group is not None and self._slots.put_again(group, slot):
            self.cluster_events.gangs.add(group.id)

    def _read_pod(self, pod: Pod) -> None:
        facts = self.reader.read(pod)
        task = facts.task
        if task.slot and self._slots.is_another_owner_s(task.gang, task.slot):
            # Its group was deleted and made again before it was gone: it is no member of the new one.
            task = msgspec.structs.replace(task, gang=f"{task.gang}@{owner_of(task.slot)}")
        known = self.cluster.tasks.get(pod.uid)
        bound = self.assumed.get(pod.uid)
        if bound is not None and task.state is State.PENDING:
            # The watch is behind: the bind has been sent, and holds its room until it is answered.  So do the
            # volumes that the task was promised, whatever its claims look like by now.
            constraints = known.cls.constraints if known is not None else task.constraints
            task = msgspec.structs.replace(task, state=State.BINDING, node=bound.node, constraints=constraints)
        if task.id in self.evicting:
            if task.state in HOLDING:
                # Its eviction was sent, though nothing of it is to be seen yet: whoever comes for its room must
                # not send others away as well.
                task = msgspec.structs.replace(task, state=State.RELEASING)
            else:
                self.evicting.pop(task.id)
        if pod.spec.volumes:
            others = self._claiming.follow(pod, known is None, waits=task.state is State.PENDING)
            self._stale |= dict.fromkeys(others)
        if GANG_PLAN in pod.annotations and pod.uid not in self.plans:
            plan = read_plan(pod.annotations[GANG_PLAN], bound_at(pod))
            if plan is not None:
                self.plans[pod.uid] = plan
        queue = facts.queue
        if queue is not None:
            self._note_queue(queue)
        if facts.gang is None:
            named, over = (queue.id, queue.over_usual) if queue is not None else ("", False)
            self._named_queues.put_member(task, named, facts.usual_queue, over=over)
        else:
            self._named_queues.drop_member(task.id)
        for gathered in self._gathered.put(pod, task.gang):
            self._read_gathered(gathered)
        if facts.gang is not None:
            self._put_lone(facts.gang)
        else:
            self._requeue(task.gang)
        if known is not None and known.gang.id != task.gang:
            self._requeue(known.gang.id)
        if self._profiles.ask(task.gang, facts.profile):
            self._reread_members(task.gang)
        if self._profiles.foreign(task.gang, facts.profile):
            task = msgspec.structs.replace(task, gated=True, quota_gated=False)
        before, slot = standing_of(known), known.slot if known is not None else ""
        after = self.cluster.put_task(task)
        if slot and slot != after.slot:
            self._put_slot_again(task.gang, slot)
        self._compare(before, standing_of(after))
        if facts.task.state is not State.PENDING:
            self.assumed.pop(pod.uid, None)  # the pod itself shows where it is
        gang = self.cluster.gangs.get(task.gang)
        refusal = facts.refusal
        if gang is not None:
            gang.profile = self._profiles.of(gang.id)
        elif home := self._named_queues.of_stranger(task.gang):
            # Its group is gone, or not there yet.  On the nodes of others its pods are guests all the same.
            self.cluster.put_stranger(task.gang, home, self._profiles.of(task.gang))
        if gang is None and refusal is None:
            awaited = self._gathered.awaited(task.gang)
            refusal = awaited.fault if awaited is not None else None
            refusal = refusal or refuse(GROUP_AWAITED if facts.awaited else NO_GANG, group=facts.group)
        # Where there are gates, the server has said why it waits.
        waits = task.state is State.PENDING and not pod.spec.scheduling_gates
        self._judge(pod.uid, refusal if waits else None)

    def _put_lone(self, facts: GangFacts) -> None:
        """A pod that is alone; it may name another queue than before, and so may whoever waits in that one find
        what it leaves behind."""
        known = self.cluster.gangs.get(facts.id)
        before = known.queue if known is not None else ""
        gang = self.cluster.put_gang(facts)
        if known is not None and gang.queue != before:
            self._moved_gangs([gang])
            self.cluster_events.room = True

    def _judge(self, task: str, refusal: Refusal | None) -> None:
        """Keeps why a pod cannot be placed whatever happens elsewhere."""
        if self.refused.get(task) == refusal:
            return
        self._changed_refusals[task] = None
        if refusal is None:
            del self.refused[task]
        else:
            self.refused[task] = refusal

    def take_changed_refusals(self, most: int) -> list[tuple[Task, str, Refusal | None]]:
        """The first pods whose own fault is news, or is no longer, each with the profile that they ask for."""
        found = []
        for id in list(islice(self._changed_refusals, most)):
            del self._changed_refusals[id]
            task = self.cluster.tasks.get(id)
            pod = self.cache.find(r.PODS, Pod, (task.namespace, task.name)) if task is not None else None
            if task is not None and pod is not None:
                found.append((task, pod.spec.scheduler_name, self.refused.get(id)))
        return found

    @property
    def reports_waiting(self) -> bool:
        """Whether there is still something to say of pods and objects that are bad themselves."""
        return bool(self._changed_refusals or self._faults)

    def _compare(self, before: Standing | None, after: Standing | None) -> None:
        """What a task's change means to others, and to its gang."""
        if before == after or after is None:
            return
        self.moved[after.gang] = None
        if before is not None and before.state in ON_NODE and after.state is not before.state:
            # Also what has begun to leave helps: its place can be promised.
            self.cluster_events.room |= after.state not in HOLDING
        elif before is not None and before.labels != after.labels and after.state in ON_NODE:
            self.cluster_events.room = True  # others may have kept away from it, or wanted to be near
        if after.state in (State.PENDING, State.RESERVED):
            self.cluster_events.gangs.add(after.gang)
        elif after.state in HOLDING and (before is None or before.state not in HOLDING):
            self.cluster_events.growth = True
            if before is not None and before.state is State.PENDING:
                # Somebody else has placed it: the others may have waited for that.
                self.cluster_events.gangs.add(after.gang)

    def _read_node(self, node: Node) -> None:
        drivers = self.cache.find(r.CSINODES, CSINode, ("", node.name))
        owner, faults = self.queue_objects.owner(node)
        reading = read_node(node, drivers, group_labels=self._node_groups, queue=owner)
        facts = reading.facts
        for fault in (*reading.faults, *faults):
            self.blame(r.NODES, node, fault)
        row = self.cluster.nodes.rows.get(facts.name)
        if row is None or self.cluster.nodes.facts[row] != facts:
            self.cluster_events.nodes = True
            self.cluster.put_node(facts)
            self.moved |= dict.fromkeys(self._slots.on_node(facts.name))  # it may have been lost, or found

    def _reread_owners(self, nodes: Iterable[str]) -> None:
        """Queues that own nodes have changed, and these nodes are another one's now, or contested otherwise."""
        for name in nodes:
            row, node = self.cluster.nodes.rows.get(name), self.cache.find(r.NODES, Node, ("", name))
            facts = self.cluster.nodes.facts[row] if row is not None else None
            if row is not None and node is not None and facts is not None:
                owner, faults = self.queue_objects.owner(node)
                for fault in faults:
                    self.blame(r.NODES, node, fault)
                if owner != facts.queue:
                    self.cluster_events.nodes = True
                    self.cluster.nodes.give(row, owner)

    def _read_queue(self, queue: Queue) -> None:
        known = self.cluster.queues.get(queue.id)
        if known != queue:
            self.cluster_events.room = True
            if queue.lends or queue.borrows or known is None or known.lends or known.borrows:
                self.cluster_events.nodes = True  # which nodes are open to whom
            self._moved_gangs(self.cluster.put_queue(queue))

    def _moved_gangs(self, gangs: list[Gang]) -> None:
        """Gangs have come into another queue: the one that they name came or went, or they name another one."""
        self.cluster_events.gangs.update(gang.id for gang in gangs)

    def _read_other(self, resource: Resource, obj: Object) -> None:
        self.cluster_events.room = True
        if isinstance(obj, PodDisruptionBudget):
            self.cluster.put_budget(read_budget(obj))
        elif isinstance(obj, ResourceQuota):
            self.cluster.put_quota(read_quota(obj))
            self._quotas_moved = True
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
            self._storage_changed(obj)

    # --- pods that are read with other objects -------------------------------------------------------------------

    def settle(self, most: int | None = None) -> bool:
        """Before a turn: reads pods again whose surroundings have changed, each once, and weighs namespaces.

        At the most so many pods: whether that was all.
        """
        moved = self._claiming.take_moved()
        if moved is not None:
            self.reader.volumes.volumes_changed()
            self._stale |= dict.fromkeys(moved.values())
            self.cluster_events.gangs.update(self._slots.volumes_changed(self._group_facts))
        if self._quotas_moved:
            self._quotas_moved = False
            self.cluster.namespace_weights = namespace_weights(self.cluster.quotas.values(), self._weight_names)
        for key in list(islice(self._stale, most)):
            del self._stale[key]
            pod = self.cache.find(r.PODS, Pod, key)
            if pod is not None:
                self._read_pod(pod)
        if not self._remembered:
            self._remembered = True
            self._remember()
        return not self._stale

    def _storage_changed(self, obj: Object) -> None:
        self._stale |= dict.fromkeys(self._claiming.changed(obj))
        if isinstance(obj, PersistentVolumeClaim):
            self.cluster_events.gangs.update(self._slots.claim_changed(key_of(obj), self._group_facts))
