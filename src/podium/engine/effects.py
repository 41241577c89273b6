"""Decisions as writes: what a binding, an eviction or a nomination is to an API server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.core.model.model import Task
from podium.dialects.kubernetes.devices import index_of
from podium.kube.changes import Create, Delete, Patch, Read
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from podium.kube.rights import Right
from podium.kube.times import format_time
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.volume_matching import BOUND_BY_CONTROLLER, SELECTED_NODE, reference_to
from podium.kube.wire import PersistentVolume, PersistentVolumeClaim

Document = dict[str, Any]

GANG_PLAN = "podium.dev/gang-plan"

# What the functions below need.
RIGHTS = (
    Right(PODS, ("create",), "binding"),
    Right(PODS, ("patch",), "status"),
    Right(PODS, ("get", "patch", "delete")),
    Right(PERSISTENTVOLUMECLAIMS, ("patch",)),
    Right(PERSISTENTVOLUMES, ("patch",)),
)


def binding(task: Task, node: str, plan: str) -> Create:
    """Gives a pod its node.

    The plan travels with the binding, and so does which of the node's GPUs it has: the server copies a binding's
    annotations onto the pod in the same write, so a scheduler that starts anew knows from the pods alone that
    a gang was bound half, and what of each GPU is free.
    """
    document: Document = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": task.name,
            "namespace": task.namespace,
            "uid": task.id,
            "annotations": {GANG_PLAN: plan, **index_of(task.devices)},
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return Create(PODS, task.namespace, document, name=task.name, subresource="binding")


def disruption_mark(task: Task, why: str, now: float) -> Patch:
    """A condition says why a pod is about to go, before it goes: to controllers that is no failure of its own."""
    return _condition(task, "DisruptionTarget", "True", "PreemptionByScheduler", why, now)


def eviction(task: Task, grace: int | None = None) -> Delete:
    """Ends a pod, by default with its own grace period."""
    return Delete(PODS, task.namespace, task.name, uid=task.id, grace=grace)


def nomination(task: Task, node: str) -> Patch:
    """Shows where a pod will go once others have left; an empty name takes it back."""
    patch = {"status": {"nominatedNodeName": node or None}}
    return Patch(PODS, task.namespace, task.name, patch, subresource="status", uid=task.id)


def unschedulable(task: Task, sentence: str, now: float, reason: str = "Unschedulable") -> Patch:
    """Says on the pod why it waits.  Behind a gate it is not for a lack of nodes: no node would help."""
    if task.gated and task.quota_gate:
        reason = "SchedulingGated"
    return _condition(task, "PodScheduled", "False", reason, sentence, now)


def _condition(task: Task, type: str, status: str, reason: str, message: str, now: float) -> Patch:
    """Sets one condition of a pod and leaves the others alone."""
    condition = {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(now),
    }
    return Patch(
        PODS,
        task.namespace,
        task.name,
        {"status": {"conditions": [condition]}},
        subresource="status",
        content_type=STRATEGIC_PATCH,
        uid=task.id,
    )


def ungated(task: Task, gates: Iterable[str]) -> Patch:
    """Lifts gates."""
    lifted = [{"$patch": "delete", "name": name} for name in gates]
    patch = {"spec": {"schedulingGates": lifted}}
    return Patch(PODS, task.namespace, task.name, patch, content_type=STRATEGIC_PATCH, uid=task.id)


def question(task: Task) -> Read:
    """How the pod stands: asked when the outcome of a write is not known."""
    return Read(PODS, task.namespace, task.name, task.id)


def selected_node(claim: PersistentVolumeClaim, node: str) -> Patch:
    """Names the node that a volume is to be made for; the provisioner of the claim's class acts on it."""
    patch = {"metadata": {"annotations": {SELECTED_NODE: node}}}
    return Patch(PERSISTENTVOLUMECLAIMS, claim.namespace, claim.name, patch, uid=claim.uid)


def promised_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Patch:
    """Gives a free volume to a claim, under its version: whoever comes second is refused."""
    patch: Document = {"spec": {"claimRef": reference_to(claim)}}
    if volume.spec.claim_ref is None:
        # Where a user had promised it, it stays the user's doing.
        patch["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    version = volume.metadata.resource_version
    return Patch(PERSISTENTVOLUMES, "", volume.name, patch, uid=volume.uid, resource_version=version)
