"""Groups for pods that nobody has grouped.

A pod of Volcano's scheduler that names no group gets one, called after what controls it: all pods of a ReplicaSet,
a StatefulSet, a Job or of any operator's object are one group.  A JobSet controls pods through its Jobs, and they
are one group, too; in a LeaderWorkerSet each leader and its workers are one.  A pod that nothing controls is a
group by itself.  The owner says by an annotation how many must start together; the pods' own annotations say the
rest.

The scheduler does not wait for the group of a lone pod, which is a gang of one with or without an object.  It
waits for the group of a controlled one (`marks`): only the group says how many start together.

Annotations of operators' objects can be read where the operators' kinds are served; so this controller learns
kinds as they come and go.  The status of groups is the scheduler's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from podium.dialects.kubernetes.membership import Membership
from podium.dialects.volcano.groups import (
    GROUP_MIN_MEMBER,
    JOBSET_UID,
    LEADERS_KEY,
    LEADERS_SET,
    OWNER_PREFIX,
    group_name,
    leader_of,
    name_after,
    queue_of_namespace,
    topology_of,
)
from podium.dialects.volcano.job.names import BUDGETS
from podium.dialects.volcano.names import GROUP_NAME, PODGROUPS, PREEMPTABLE, QUEUE_NAME, SCHEDULER, group_id
from podium.dialects.volcano.types import PodGroup
from podium.dialects.volcano.usage import Usage, pod_usage
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Patch, Read
from podium.kube.conditions import owner_reference
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import nobody
from podium.kube.numbers import whole_number
from podium.kube.resources import DAEMONSETS, JOBS, NAMESPACES, PODS, REPLICASETS, STATEFULSETS, Resource
from podium.kube.selectors import from_labels
from podium.kube.wire import Object, OwnerReference, Pod, ReplicaSet, StatefulSet

Document = dict[str, Any]

_OWNERS = (REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS)
# Kinds of operators that control pods, by plural: which of them there are is the cluster's affair.  A list, and
# not all kinds of their groups: who watches needs the right to, and nobody should have to grant it for all.
_OPERATORS = (
    Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
    Resource("kubeflow.org", "v1", "tfjobs", "TFJob"),
    Resource("kubeflow.org", "v1", "xgboostjobs", "XGBoostJob"),
    Resource("kubeflow.org", "v1", "paddlejobs", "PaddleJob"),
    Resource("kubeflow.org", "v1", "jaxjobs", "JAXJob"),
    Resource("kubeflow.org", "v1", "mxjobs", "MXJob"),
    Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"),
    Resource("ray.io", "v1", "rayclusters", "RayCluster"),
    Resource("ray.io", "v1", "rayjobs", "RayJob"),
    Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"),
)
OWNERS = (*_OWNERS, *_OPERATORS)
_FOLLOWED = frozenset(each.group_resource for each in _OPERATORS)  # in whatever version a server has them

_LEADERS_KIND = "LeaderWorkerSet"

_COOLDOWN_TIME = "volcano.sh/cooldown-time"
_FROM_POD = (PREEMPTABLE, _COOLDOWN_TIME, "volcano.sh/revocable-zone")
_LABELS_FROM_POD = (PREEMPTABLE, _COOLDOWN_TIME)

# Keys are what a group is called after: a pod by name, an owner by UID.
_POD, _OWNER = "pod/", "owner/"
_UNSYNCED_DELAY = 1.0


class PodGroupController:
    """Keyed by the pod or the owner whose group it is."""

    name = "podgroup"

    def __init__(
        self,
        schedulers: Iterable[str] = (SCHEDULER,),
        named_groups: Callable[[Pod], Iterable[Membership]] = lambda pod: (),
    ) -> None:
        """`named_groups` are the groups that a pod names, in any dialect."""
        self._schedulers = frozenset(schedulers)
        self._named_groups = named_groups
        self.watches: dict[Resource, Mapper] = {
            PODS: self._of_pod,
            PODGROUPS: _of_group,
            NAMESPACES: nobody,
            **dict.fromkeys(_OWNERS, _of_owner),
        }

    def serve(self, resource: Resource) -> None:
        if resource.group_resource in _FOLLOWED:
            self.watches[resource] = _of_owner

    def withdraw(self, resource: Resource) -> None:
        if resource.group_resource in _FOLLOWED:
            self.watches.pop(resource, None)

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        if not all(map(cache.synced, (PODS, PODGROUPS, NAMESPACES))):
            return Outcome(again_at=now + _UNSYNCED_DELAY)
        namespace, whose = key
        if whose.startswith(_POD):
            return self._of_one(cache.find(PODS, Pod, (namespace, whose.removeprefix(_POD))), cache)
        uid = whose.removeprefix(_OWNER)
        pods = self._members(name_after(uid), _controlled(uid, namespace, cache))
        group = cache.find(PODGROUPS, PodGroup, (namespace, name_after(uid)))
        reference = next((_reference(one, uid, cache) for one in (*pods, group) if one is not None), None)
        if reference is None:
            return NOTHING
        resource = self._kind(reference)
        owner = cache.get(resource, namespace, reference.name) if resource is not None else None
        if owner is not None and owner.uid != uid:
            owner = None
        if owner is None and resource is not None and not cache.is_tombstone(uid):
            # A group that knows nothing of its owner would let single pods through.
            if not cache.synced(resource):
                return Outcome(again_at=now + _UNSYNCED_DELAY)
            return Outcome((Read(resource, namespace, reference.name, uid),))
        if _scaled_to_nothing(owner):
            return Outcome(_removed(group))
        return _grouped(pods, owner, _owner_references(pods[0], reference), cache) if pods else NOTHING

    def _of_one(self, pod: Pod | None, cache: Cache) -> Outcome:
        """The group of a pod that nothing controls, or of a leader and its workers."""
        if pod is None or not self._concerned(pod):
            return NOTHING
        own = [owner_reference(pod, PODS)]
        if leader_of(pod) == pod.name:
            alike = from_labels({LEADERS_KEY: pod.labels[LEADERS_KEY]})
            found = cache.select(PODS, pod.namespace, alike)
            pods = self._members(group_name(pod), (each for each in found if isinstance(each, Pod)))
            return _grouped(pods, self._leaders_set(pod, cache), own, cache)
        return _grouped([pod], None, own, cache) if pod.metadata.controller is None else NOTHING

    def _members(self, name: str, pods: Iterable[Pod]) -> list[Pod]:
        return [pod for pod in pods if self._concerned(pod) and group_name(pod) == name]

    def _leaders_set(self, pod: Pod, cache: Cache) -> Object | None:
        kinds = (each for each in self.watches if each.kind == _LEADERS_KIND)
        found = (cache.get(each, pod.namespace, pod.labels[LEADERS_SET]) for each in kinds)
        return next((each for each in found if each is not None), None)

    def _of_pod(self, obj: Object, cache: Cache) -> Iterable[Key]:
        if not isinstance(obj, Pod) or obj.spec.scheduler_name not in self._schedulers:
            return ()
        if obj.annotations.get(GROUP_NAME, group_name(obj)) != group_name(obj):
            return ()  # somebody else's group: a Job's pods, above all
        reference, leader, jobset = obj.metadata.controller, leader_of(obj), obj.labels.get(JOBSET_UID)
        if leader or reference is None:
            return ((obj.namespace, _POD + (leader or obj.name)),)
        return ((obj.namespace, _OWNER + (jobset or reference.uid)),)

    def _concerned(self, pod: Pod) -> bool:
        if pod.spec.scheduler_name not in self._schedulers or pod.finished or pod.deleting:
            return False
        own = group_name(pod)
        if pod.annotations.get(GROUP_NAME, own) != own:
            return False
        return all(group.gang == group_id(pod.namespace, own) for group in self._named_groups(pod))

    def _kind(self, reference: OwnerReference) -> Resource | None:
        """The resource that a reference is about, if it is followed."""
        for resource in self.watches:
            if resource.kind == reference.kind and resource.api_version == reference.api_version:
                return resource
        return None


def _of_owner(obj: Object, cache: Cache) -> Iterable[Key]:
    """A Job may be one of a JobSet."""
    above = obj.metadata.controller
    if above is not None:
        yield obj.namespace, _OWNER + above.uid
    yield obj.namespace, _OWNER + obj.uid


def _controlled(uid: str, namespace: str, cache: Cache) -> Iterator[Pod]:
    """The pods that an object controls, itself or through Jobs."""
    for holder in (uid, *(job.uid for _, job in cache.owned_by(uid, JOBS, namespace))):
        yield from (pod for _, pod in cache.owned_by(holder, PODS, namespace) if isinstance(pod, Pod))


def _reference(obj: Object, uid: str, cache: Cache) -> OwnerReference | None:
    """How a pod or a group names the object of this UID: as its controller, or as that of its Job."""
    reference = obj.metadata.controller
    if reference is None or reference.uid == uid:
        return reference
    job = cache.get(JOBS, obj.namespace, reference.name)
    return job.metadata.controller if job is not None else None


def _of_group(obj: Object, cache: Cache) -> Iterable[Key]:
    reference = obj.metadata.controller
    if reference is None:
        return ()
    of_pod = reference.kind == PODS.kind and reference.api_version == PODS.api_version
    return ((obj.namespace, _POD + reference.name if of_pod else _OWNER + reference.uid),)


def _scaled_to_nothing(owner: Object | None) -> bool:
    return isinstance(owner, ReplicaSet | StatefulSet) and owner.spec.replicas == 0


def _removed(group: PodGroup | None) -> tuple[Change, ...]:
    if group is None or group.deleting:
        return ()
    return (Delete(PODGROUPS, group.namespace, group.name, uid=group.uid),)


def _grouped(pods: list[Pod], owner: Object | None, references: list[Document], cache: Cache) -> Outcome:
    """The group of these pods as it should be, and every pod with its name on it."""
    model = min(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
    name = group_name(model)
    group = cache.find(PODGROUPS, PodGroup, (model.namespace, name))
    # A group that is there stays in its queue, whatever its namespace says later.
    queue = queue_of_namespace(model.namespace, cache) if group is None else ""
    wanted = _document(model, name, owner, references, queue)
    changes: list[Change] = []
    if group is None:
        changes.append(Create(PODGROUPS, model.namespace, wanted))
    elif group.deleting:
        return NOTHING  # once it is gone there will be another
    else:
        changes += _changed(group, wanted)
    mark = {"metadata": {"annotations": {GROUP_NAME: name}}}
    unmarked = (pod for pod in pods if GROUP_NAME not in pod.annotations)
    changes += (Patch(PODS, pod.namespace, pod.name, mark, uid=pod.uid) for pod in unmarked)
    return Outcome(tuple(changes))


def _document(pod: Pod, name: str, owner: Object | None, references: list[Document], queue: str) -> Document:
    """The group that a pod and its owner ask for; `queue` is that of the namespace."""
    above: Mapping[str, str] = owner.annotations if owner is not None else {}
    annotations = {key: value for key, value in above.items() if key.startswith(OWNER_PREFIX)}
    annotations |= {key: pod.annotations[key] for key in _FROM_POD if key in pod.annotations}
    annotations |= {key: pod.annotations[key] for key in BUDGETS if key in pod.annotations}
    if set(BUDGETS) <= pod.annotations.keys():
        del annotations[BUDGETS[1]]
    minimum = _minimum(pod.annotations.get(GROUP_MIN_MEMBER) or above.get(GROUP_MIN_MEMBER))
    needs = Usage()
    needs.add(pod_usage(pod.spec), minimum)
    spec: Document = {"minMember": minimum, "minResources": needs.quantities()}
    if pod.spec.priority_class_name:
        spec["priorityClassName"] = pod.spec.priority_class_name
    reported = (pod.annotations, pod.labels, above, owner.labels if owner is not None else {})
    queue = next((marks[QUEUE_NAME] for marks in reported if marks.get(QUEUE_NAME)), queue)
    if queue:
        spec["queue"] = queue
    if topology := topology_of(pod.annotations):
        spec["networkTopology"] = topology
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {
            "name": name,
            "annotations": annotations,
            "labels": {key: pod.labels[key] for key in _LABELS_FROM_POD if key in pod.labels},
            "ownerReferences": references,
        },
        "spec": spec,
    }


def _changed(group: PodGroup, wanted: Document) -> list[Change]:
    """What of the group is not as it is wanted.  What only others say about it stays."""
    reported: Document = {**wanted["spec"]}
    reported["minResources"] = {**dict.fromkeys(group.spec.min_resources or {}), **reported["minResources"]}
    spec = _news(reported, msgspec.to_builtins(group.spec))
    marks = {field: wanted["metadata"][field] for field in ("annotations", "labels")}
    metadata = _news(marks, {"annotations": group.annotations, "labels": group.labels})
    patch = {part: new for part, new in (("spec", spec), ("metadata", metadata)) if new}
    return [Patch(PODGROUPS, group.namespace, group.name, patch, uid=group.uid)] if patch else []


def _news(wanted: Document, seen: Mapping[str, Any]) -> Document:
    """What is wanted and not so, as a merge patch: None stands for what must not be there."""
    found: Document = {}
    for field, value in wanted.items():
        known = seen.get(field)
        if not isinstance(value, dict):
            if value != known:
                found[field] = value
        elif inner := _news(value, known or {}):
            found[field] = inner
    return found


def _minimum(text: str | None) -> int:
    """How many must start together; 1 if nothing sensible is said."""
    number = whole_number(text or "")
    return 1 if number is None else number


def _owner_references(pod: Pod, controller: OwnerReference) -> list[Document]:
    """Those of a pod, or that to the object which controls it through others."""
    own = pod.metadata.owner_references or []
    return [
        {
            "apiVersion": each.api_version,
            "kind": each.kind,
            "name": each.name,
            "uid": each.uid,
            "controller": each.controller,
            "blockOwnerDeletion": each.block_owner_deletion,
        }
        for each in (own if controller in own else [controller])
    ]
