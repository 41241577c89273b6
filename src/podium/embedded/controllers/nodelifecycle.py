"""Nodes that are not well, and the pods on them.

A node's conditions become taints, which keep new pods away (NoSchedule) and send running ones away (NoExecute).
A pod may tolerate a NoExecute taint for ever or for some seconds, counted from the moment the taint was set.
Pods on a node that is not ready are marked not ready at once, since nobody else can; pods bound to a node that
no longer exists are removed without asking it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Delete, Document, Patch
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.mapping import itself
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.times import format_time, parse_time
from podium.kube.wire import Node, Object, Pod, Taint, Toleration, condition
from podium.kube.writing import pod_condition

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"

# Conditions that keep new pods away: the status that does, and the taint.
_BY_CONDITION = (
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
)
_MANAGED = {
    *((key, "NoSchedule") for _, _, key in _BY_CONDITION),
    (UNSCHEDULABLE, "NoSchedule"),
    (NOT_READY, "NoExecute"),
    (UNREACHABLE, "NoExecute"),
}

# A pod may be seen before the node it was bound to; only after this time is a missing node a deleted one.
_YOUNG = 40.0


class NodeLifecycleController:
    """Keyed by node name, of nodes that exist and of those that pods still name."""

    name = "node-lifecycle"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {NODES: itself, PODS: _troubled_node}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        node = cache.find(NODES, Node, key)
        if node is None:
            return _collect_orphans(key[1], cache, now)
        changes: list[Change] = []
        taints = _wanted_taints(node, now)
        if taints != list(node.spec.taints or ()):
            changes.append(_set_taints(node, taints))
        if _ready_status(node) in ("False", "Unknown"):
            changes += [_not_ready(pod, now) for pod in cache.pods_on(node.name) if pod.ready and not pod.finished]
        evictions = _evict(node, taints, cache, now)
        return Outcome((*changes, *evictions.changes), evictions.again_at, evictions.notes)


def _troubled_node(obj: Object, cache: Cache) -> Iterable[Key]:
    """A pod concerns its node only when something is wrong with that."""
    if not isinstance(obj, Pod) or not obj.spec.node_name:
        return ()
    node = cache.find(NODES, Node, ("", obj.spec.node_name))
    well = node is not None and not node.spec.taints and _ready_status(node) not in ("False", "Unknown")
    return () if well else (("", obj.spec.node_name),)


def _ready_status(node: Node) -> str:
    found = condition(node.status.conditions, "Ready")
    return found.status if found is not None else ""


# --- taints ------------------------------------------------------------------------------------------------


def _wanted_taints(node: Node, now: float) -> list[Taint]:
    """The node's taints with ours brought up to date; those of others stay, and so do the times of ours."""
    wanted: dict[tuple[str, str], None] = {}
    for kind, status, key in _BY_CONDITION:
        found = condition(node.status.conditions, kind)
        if found is not None and found.status == status:
            wanted[key, "NoSchedule"] = None
            if kind == "Ready":
                wanted[key, "NoExecute"] = None
    if node.spec.unschedulable:
        wanted[UNSCHEDULABLE, "NoSchedule"] = None
    present = list(node.spec.taints or ())
    kept = [
        each for each in present if (each.key, each.effect) not in _MANAGED or (each.key, each.effect) in wanted
    ]
    there = {(each.key, each.effect) for each in kept}
    added = [Taint(key=k, effect=e, time_added=format_time(now)) for k, e in wanted if (k, e) not in there]
    return kept + added


def _set_taints(node: Node, taints: list[Taint]) -> Patch:
    documents = [
        {key: value for key, value in msgspec.to_builtins(each).items() if value not in (None, "")}
        for each in taints
    ]
    # The list is one value to the server, so the version guards what others put into it meanwhile.
    return Patch(
        NODES,
        "",
        node.name,
        {"spec": {"taints": documents or None}},
        uid=node.uid,
        resource_version=node.metadata.resource_version,
    )


# --- pods on nodes in trouble ------------------------------------------------------------------------------


def _not_ready(pod: Pod, now: float) -> Change:
    """What the pod's node would say if it could."""
    return pod_condition(pod, _condition("Ready", "False", "NodeNotReady", "", now))


def _evict(node: Node, taints: list[Taint], cache: Cache, now: float) -> Outcome:
    """Deletes the pods whose tolerance of the NoExecute taints has run out."""
    driving = [each for each in taints if each.effect == "NoExecute"]
    if not driving:
        return NOTHING
    out_of_service = any(each.key == OUT_OF_SERVICE for each in driving)
    marks: list[Change] = []
    deletes: list[Change] = []
    notes: list[Note] = []
    later: list[float] = []
    for pod in cache.pods_on(node.name):
        if pod.deleting or pod.finished:
            if out_of_service and pod.deleting:
                deletes.append(Delete(PODS, pod.namespace, pod.name, uid=pod.uid, grace=0))
            continue
        end = tolerated_until(pod, driving, now)
        if end is None:
            continue
        if end > now:
            later.append(end)
            continue
        sentence = "Taint manager: deleting due to NoExecute taint"
        marks.append(_disruption(pod, "DeletionByTaintManager", sentence, now))
        deletes.append(Delete(PODS, pod.namespace, pod.name, uid=pod.uid))
        reported = f"Marking for deletion Pod {pod.namespace}/{pod.name}"
        notes.append(Note(PODS, pod, "TaintManagerEviction", reported))
    return Outcome((*marks, *deletes), min(later, default=None), tuple(notes))


def tolerated_until(pod: Pod, taints: list[Taint], now: float) -> float | None:
    """Until when the pod may stay: None for ever, `now` for no longer."""
    ends: list[float] = []
    for taint in taints:
        fitting = [each for each in pod.spec.tolerations or () if tolerates(each, taint)]
        if not fitting:
            return now
        since = parse_time(taint.time_added) or now
        limits = [each.toleration_seconds for each in fitting if each.toleration_seconds is not None]
        if limits:
            ends.append(since + max(0, min(limits)))
    return max(now, min(ends)) if ends else None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def _collect_orphans(name: str, cache: Cache, now: float) -> Outcome:
    """Removes pods of a node that does not exist: first marked as failed, as nobody will report their end."""
    marks: list[Change] = []
    deletes: list[Change] = []
    later: list[float] = []
    for pod in cache.pods_on(name):
        due = _bound_at(pod) + _YOUNG
        if due > now:
            later.append(due)
            continue
        if not pod.finished:
            marks.append(_disruption(pod, "DeletionByPodGC", "PodGC: node no longer exists", now, phase="Failed"))
        deletes.append(Delete(PODS, pod.namespace, pod.name, uid=pod.uid, grace=0))
    return Outcome((*marks, *deletes), min(later, default=None))


def _bound_at(pod: Pod) -> float:
    scheduled = condition(pod.status.conditions, "PodScheduled")
    if scheduled is not None and scheduled.status == "True":
        return parse_time(scheduled.last_transition_time)
    return parse_time(pod.metadata.creation_timestamp)


def _disruption(pod: Pod, reason: str, message: str, now: float, phase: str = "") -> Change:
    return pod_condition(pod, _condition("DisruptionTarget", "True", reason, message, now), phase)


def _condition(kind: str, status: str, reason: str, message: str, now: float) -> Document:
    document = {"type": kind, "status": status, "reason": reason, "lastTransitionTime": format_time(now)}
    return {**document, "message": message} if message else document
