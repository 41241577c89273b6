"""Decisions as writes: what a binding, an eviction or a nomination is to an API server."""

from __future__ import annotations

from typing import Any

from podium.core.model import Task
from podium.kube.changes import Create, Delete, Patch, Read
from podium.kube.resources import PODS
from podium.kube.times import format_time
from podium.kube.transport import STRATEGIC_PATCH

Document = dict[str, Any]

GANG_PLAN = "podium.dev/gang-plan"


def binding(task: Task, node: str, plan: str) -> Create:
    """Gives a pod its node.

    The plan travels with the binding: the server copies its annotations onto the pod in the same write, so a
    scheduler that starts anew can tell from the pods alone that a gang was bound half.
    """
    document: Document = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": task.name,
            "namespace": task.namespace,
            "uid": task.id,
            "annotations": {GANG_PLAN: plan},
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return Create(PODS, task.namespace, document, name=task.name, subresource="binding")


def disruption_mark(task: Task, why: str, now: float) -> Patch:
    """Says on the pod why it is about to go, before it goes: controllers tell it from a failure of its own."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": why,
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


def eviction(task: Task, grace: int | None = None) -> Delete:
    """Ends a pod, by default with its own grace period."""
    return Delete(PODS, task.namespace, task.name, uid=task.id, grace=grace)


def nomination(task: Task, node: str) -> Patch:
    """Shows where a pod will go once others have left; an empty name takes it back."""
    patch = {"status": {"nominatedNodeName": node or None}}
    return Patch(PODS, task.namespace, task.name, patch, subresource="status", uid=task.id)


def unschedulable(task: Task, sentence: str, now: float) -> Patch:
    """Tells on the pod why it waits."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": sentence,
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


def question(task: Task) -> Read:
    """How the pod stands: asked when the outcome of a write is not known."""
    return Read(PODS, task.namespace, task.name, task.id)
