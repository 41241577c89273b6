"""Keeps the model in step with the API: observed objects in, facts for the core out.

Everything is level-triggered.  An object is read anew whenever it, or something it is read with, changes: a pod
with its claims, a node with its drivers, a group with the priority classes.  What many pods are read with may
change often, so they are marked, and read again before the next turn.

What has been sent counts as well, though no pod shows it yet: a watch that is behind cannot take a place back that
a bind has been sent for, nor make one stay that was told to go.  The answer to it, or the pod itself, does.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model.facts import GangFacts
from podium.core.model.model import HOLDING, ON_NODE, Gang, Queue, State, Task, TaskClass
from podium.dialects.dialect import Dialect, GroupKind, QueueKind, Slot, views_of
from podium.dialects.kubernetes.nodes import read_node
from podium.dialects.kubernetes.policies import (
    Priorities,
    namespace_weights,
    object_id,
    read_budget,
    read_quota,
)
from podium.dialects.kubernetes.translate import PodReader
from podium.engine.effects import GANG_PLAN
from podium.engine.named_queues import NamedQueues
from podium.engine.profiles import Profiles
from podium.engine.recovery import Plan, bound_at, read_plan
from podium.engine.requeue import ClusterEvents
from podium.kube import resources as r
from podium.kube.cache import Cache, Key, claims_of, key_of
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


class _Standing(msgspec.Struct, frozen=True):
    """What others, or its own gang, may mind about a task."""

    state: State
    row: int
    cls: TaskClass
    gang: str
    role: str
    labels: Mapping[str, str]
    priority: int
    gated: bool


def _standing(task: Task | None) -> _Standing | None:
    if task is None:
        return None
    return _Standing(
        task.state, task.row, task.cls, task.gang.id, task.role, task.labels, task.priority, task.gated
    )


class Bound(msgspec.Struct, frozen=True):
    """A bind under way: where to, and for which plan."""

    node: str
    plan: str


class Fault(msgspec.Struct, frozen=True):
    """An object that cannot be worked with, or not wholly."""

    resource: Resource
    obj: Object
    refusal: Refusal


class World:
    """The model, and what it was made from."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.cluster = Cluster()
        self.cluster.put_queue(NO_QUEUE)
        self.cache = Cache()
        self.groups: dict[Resource, GroupKind] = {k.resource: k for d in dialects for k in d.groups}
        self.queues: dict[Resource, QueueKind] = {k.resource: k for d in dialects for k in d.queues}
        self._owning = [kind for kind in self.queues.values() if kind.owner is not None]
        self._node_groups = tuple(dialect.node_group for dialect in dialects if dialect.node_group)
        self._slots: dict[str, tuple[Slot, ...]] = {}  # those that groups list, by gang
        self._speakers = {kind.resource: dialect.name for dialect in dialects for kind in dialect.queues}
        self._weight_names = {dialect.namespace_weight for dialect in dialects} - {""}
        marks = [dialect.marks for dialect in dialects if dialect.marks is not None]
        defaults = {name: queue for dialect in dialects for name, queue in dialect.default_queues.items()}
        self.reader = PodReader(marks, defaults, self.cache)
        self._priorities = Priorities()
        self.plans: dict[str, Plan] = {}  # of bound pods, by task
        self.assumed: dict[
            str, Bound
        ] = {}  # binds that are under way, or held for volumes, and do not show, by task
        self.evicting: dict[str, int | None] = {}  # tasks that have been told to go, with what grace: not seen yet
        self._profiles = Profiles()
        self._named_queues = NamedQueues()
        self._group_facts: dict[str, GangFacts] = {}
        self._claiming: dict[str, Key] = {}  # pods that wait, and have claims
        self._stale: dict[Key, None] = {}  # pods to be read again, in order
        self._volumes_moved = False
        self._quotas_moved = False
        self.refused: dict[str, Refusal] = {}  # pods that can never be placed as they are, by task
        self._changed_refusals: dict[str, None] = {}  # those of which that is news, in order
        self._faults: list[Fault] = []
        self.cluster_events = ClusterEvents()
        self.moved: dict[str, None] = {}  # gangs with members that stand otherwise than when last told of
        self.views = views_of(dialects)
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
        if self.cache.apply(resource, obj) is obj:
            return  # older than what is known
        if isinstance(obj, Pod):
            self._read_pod(obj)
        elif isinstance(obj, Node):
            self._read_node(obj)
        elif resource in self.groups:
            self._read_group(resource, obj)
        elif resource in self.queues:
            queue, faults = self.queues[resource].read(obj)
            queue.dialect = self._speakers[resource]
            for fault in faults:
                self.blame(resource, obj, fault)
            self._read_queue(queue)
            self._reread_owners(resource)
        else:
            self._read_other(resource, obj)

    def reread(self, pod: Pod) -> None:
        """Takes a pod for what it is, also when nothing about it is new: a bind for it has been given up."""
        self.cache.apply(r.PODS, pod)
        # The watch may have told of a newer one while the question was under way.
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
            self._claiming.pop(obj.uid, None)
            self.refused.pop(obj.uid, None)
            task = self.cluster.tasks.get(obj.uid)
            if task is not None:
                self.moved[task.gang.id] = None
            self.cluster.remove_task(obj.uid)
            self._named_queues.drop_member(obj.uid)
            if task is not None:
                self._requeue(task.gang.id)
            self.cluster.remove_gang(f"pod/{obj.uid}")
            if task is not None:
                self._forget_profile(task.gang.id)
                if task.slot:
                    self._put_slots(task.gang.id)  # the slot is there again, if its owner still lists it
        elif isinstance(obj, Node):
            self.cluster_events.nodes = True
            if obj.name in self.cluster.nodes.rows:
                self.cluster.remove_node(obj.name)
        elif resource in self.groups:
            id = self.groups[resource].id(obj.namespace, obj.name)
            self._group_facts.pop(id, None)
            self._list_slots(id, ())
            self._named_queues.drop_group(id)
            self._reread_members(id)
            self.cluster.remove_gang(id)
            self._forget_profile(id)
        elif resource in self.queues:
            self.cluster.remove_queue(self.queues[resource].id(obj.name))
            self._reread_owners(resource)
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

    def _forget_profile(self, gang: str) -> None:
        """Of a gang with neither group nor members nothing is left."""
        known = self.cluster.gangs.get(gang)
        if gang not in self._group_facts and (known is None or not known.tasks):
            self._profiles.forget(gang)

    def _read_pod(self, pod: Pod) -> None:
        facts = self.reader.read(pod)
        task = facts.task
        known = self.cluster.tasks.get(pod.uid)
        bound = self.assumed.get(pod.uid)
        if bound is not None and task.state is State.PENDING:
            # The watch is behind: the bind has been sent, and holds its room until it is answered.  So do the
            # volumes that the task was promised, whatever its claims look like by now.
            constraints = known.cls.constraints if known is not None else task.constraints
            task = msgspec.structs.replace(task, state=State.BINDING, node=bound.node, constraints=constraints)
        if task.id in self.evicting:
            if task.state in HOLDING:
                # Told to go, though nothing of it is to be seen yet: whoever comes for its room must not send
                # others away as well.
                task = msgspec.structs.replace(task, state=State.RELEASING)
            else:
                self.evicting.pop(task.id)
        if pod.spec.volumes:
            self._follow_claims(pod, known is None, waits=task.state is State.PENDING)
        if GANG_PLAN in pod.annotations and pod.uid not in self.plans:
            plan = read_plan(pod.annotations[GANG_PLAN], bound_at(pod))
            if plan is not None:
                self.plans[pod.uid] = plan
        self._named_queues.put_member(task, facts.queue if facts.gang is None else "")
        if facts.gang is not None:
            self.cluster.put_gang(facts.gang)
        else:
            self._requeue(task.gang)
        if known is not None and known.gang.id != task.gang:
            self._requeue(known.gang.id)
        if self._profiles.ask(task.gang, facts.profile):
            self._reread_members(task.gang)
        if self._profiles.foreign(task.gang, facts.profile):
            task = msgspec.structs.replace(task, gated=True, quota_gated=False)
        before = _standing(known)
        after = self.cluster.put_task(task)
        self._compare(before, _standing(after))
        if after.state not in (State.PENDING, State.BINDING):
            self.assumed.pop(pod.uid, None)  # the pod itself tells where it is
        gang = self.cluster.gangs.get(task.gang)
        refusal = facts.refusal
        if gang is not None:
            gang.profile = self._profiles.of(gang.id)
        elif refusal is None:
            refusal = refuse(GROUP_AWAITED if facts.awaited else NO_GANG, group=facts.group)
        # Where there are gates, the server has said why it waits.
        waits = task.state is State.PENDING and not pod.spec.scheduling_gates
        self._judge(pod.uid, refusal if waits else None)

    def _judge(self, task: str, refusal: Refusal | None) -> None:
        """Keeps why a pod cannot be placed whatever happens elsewhere."""
        if self.refused.get(task) == refusal:
            return
        self._changed_refusals[task] = None
        if refusal is None:
            del self.refused[task]
        else:
            self.refused[task] = refusal

    def take_changed_refusals(self) -> Iterator[tuple[Task, str, Refusal | None]]:
        """Pods whose own fault is news, or is no longer, each with the profile that they ask for."""
        retold, self._changed_refusals = self._changed_refusals, {}
        for id in retold:
            task = self.cluster.tasks.get(id)
            pod = self.cache.find(r.PODS, Pod, (task.namespace, task.name)) if task is not None else None
            if task is not None and pod is not None:
                yield task, pod.spec.scheduler_name, self.refused.get(id)

    def take_faults(self) -> list[Fault]:
        """What was found wrong with objects other than pods since the last time."""
        faults, self._faults = self._faults, []
        return faults

    def blame(self, resource: Resource, obj: Object, refusal: Refusal) -> None:
        self._faults.append(Fault(resource, obj, refusal))

    def _compare(self, before: _Standing | None, after: _Standing | None) -> None:
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
                self.cluster_events.gangs.add(
                    after.gang
                )  # somebody else has placed it: the others may have waited for that

    def _read_node(self, node: Node) -> None:
        drivers = self.cache.find(r.CSINODES, CSINode, ("", node.name))
        reading = read_node(node, drivers, group_labels=self._node_groups, queue=self._owner(node))
        facts = reading.facts
        for fault in reading.faults:
            self.blame(r.NODES, node, fault)
        row = self.cluster.nodes.rows.get(facts.name)
        if row is None or self.cluster.nodes.facts[row] != facts:
            self.cluster_events.nodes = True
            self.cluster.put_node(facts)

    def _owner(self, node: Node) -> str:
        """The queue that a node belongs to: the first kind that gives it one."""
        for kind in self._owning:
            assert kind.owner is not None
            owner = kind.owner(node, list(self.cache.all(kind.resource)))
            if owner:
                return owner
        return ""

    def _reread_owners(self, resource: Resource) -> None:
        """Queues that own nodes have changed: whose each node is may be another one's now."""
        if self.queues[resource].owner is not None:
            for node in self.cache.all(r.NODES):
                if isinstance(node, Node):
                    self._read_node(node)

    def _read_queue(self, queue: Queue) -> None:
        if self.cluster.queues.get(queue.id) != queue:
            self.cluster_events.room = True
            self.cluster.put_queue(queue)

    def _read_group(self, resource: Resource, obj: Object) -> None:
        kind = self.groups[resource]
        facts, fault = kind.read(obj, self._priorities)
        queue = facts.queue
        if not queue:  # its API has none
            named = self.reader.queue_of(obj)
            if isinstance(named, Refusal):
                fault, named = fault or named, None
            queue = self._named_queues.put_group(facts.id, named.id if named is not None else "")
        self._read_gang(msgspec.structs.replace(facts, fault=fault, queue=queue))
        if kind.slots is not None:
            self._list_slots(facts.id, tuple(kind.slots(obj)))

    def _read_gang(self, facts: GangFacts) -> None:
        known = self._group_facts.get(facts.id)
        self._group_facts[facts.id] = facts
        gang = self.cluster.gangs.get(facts.id)
        as_written = gang is not None and gang.phase is facts.phase
        if as_written and known is not None and msgspec.structs.replace(known, phase=facts.phase) == facts:
            return
        self.cluster_events.gangs.add(facts.id)
        # It may have been let in and ask for less now.
        self.cluster_events.room |= known is not None
        gang = self.cluster.put_gang(facts)
        gang.profile = self._profiles.of(gang.id, gang.profile)
        if known is None:
            self._reread_members(facts.id)

    def _list_slots(self, gang: str, slots: tuple[Slot, ...]) -> None:
        """The slots that a group lists from now on."""
        known = self._slots.pop(gang, ())
        if slots:
            self._slots[gang] = slots
        if slots == known:
            return
        self.cluster_events.gangs.add(gang)
        for gone in {each.id for each in known} - {each.id for each in slots}:
            self.cluster.slots.remove(gone)
            self.cluster_events.room = True
        self._put_slots(gang)

    def _put_slots(self, gang: str) -> None:
        listed, group = self._slots.get(gang), self._group_facts.get(gang)
        if listed is None or group is None:
            return
        self.cluster_events.gangs.add(gang)
        for slot in listed:
            facts = self.reader.read_slot(slot.pod, slot.id, gang)
            self.cluster.slots.put(
                msgspec.structs.replace(
                    facts,
                    namespace=group.namespace,
                    name=slot.name,
                    role=slot.role,
                    created=group.created,
                    state=State.RESERVED if slot.node else State.PENDING,
                    node=slot.node,
                )
            )

    def group_of(self, gang: Gang) -> tuple[Resource, GroupKind, Object] | None:
        """The object that a gang is read from, if it is one's."""
        for resource, kind in self.groups.items():
            obj = self.cache.get(resource, gang.namespace, gang.name)
            if obj is not None and kind.id(gang.namespace, gang.name) == gang.id:
                return resource, kind, obj
        return None

    def places_of(self, gang: Gang) -> dict[str, str]:
        """The nodes of a gang's slots, by slot: reserved for them, or with their pods on them."""
        name = self.cluster.nodes.name
        return {task.slot: name(task.row) for task in gang.tasks.values() if task.slot and task.row >= 0}

    def _requeue(self, gang: str) -> None:
        """Its members may name another queue than before, where its API has none."""
        facts, queue = self._group_facts.get(gang), self._named_queues.of(gang)
        if facts is None or queue is None or facts.queue == queue:
            return
        facts = self._group_facts[gang] = msgspec.structs.replace(facts, queue=queue)
        self.cluster_events.gangs.add(gang)
        self.cluster_events.room = True
        phase = self.cluster.gangs[gang].phase  # it may have come further than its object shows
        found = self.cluster.put_gang(msgspec.structs.replace(facts, phase=phase))
        found.profile = self._profiles.of(gang, found.profile)

    def _reread_members(self, gang: str) -> None:
        """Whether their group exists is told to pods."""
        found = self.cluster.gangs.get(gang)
        tasks = found.tasks.values() if found is not None else ()
        self._stale |= dict.fromkeys((task.namespace, task.name) for task in tasks)

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

    def settle(self) -> None:
        """Before a turn: reads pods again whose surroundings have changed, each once, and weighs namespaces."""
        stale, self._stale = self._stale, {}
        if self._volumes_moved:
            self._volumes_moved = False
            self.reader.volumes.volumes_changed()
            stale |= dict.fromkeys(self._claiming.values())
        if self._quotas_moved:
            self._quotas_moved = False
            self.cluster.namespace_weights = namespace_weights(self.cluster.quotas.values(), self._weight_names)
        for key in stale:
            pod = self.cache.find(r.PODS, Pod, key)
            if pod is not None:
                self._read_pod(pod)

    def _follow_claims(self, pod: Pod, new: bool, *, waits: bool) -> None:
        """Keeps track of the pods that wait with claims: what serves a claim may change any time."""
        self._claiming.pop(pod.uid, None)
        for claim in claims_of(pod):
            if waits:
                self._claiming[pod.uid] = key_of(pod)
            if new:
                # A claim that several pods use is another matter to each of them.
                others = (key_of(other) for other in self.cache.pods_using(claim) if other.uid != pod.uid)
                self._stale |= dict.fromkeys(others)

    def _storage_changed(self, obj: Object) -> None:
        if isinstance(obj, PersistentVolumeClaim):
            self._stale |= dict.fromkeys(map(key_of, self.cache.pods_using(key_of(obj))))
        else:
            self._volumes_moved = True
