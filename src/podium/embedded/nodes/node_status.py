"""What a simulated kubelet says about its node.

A Node that somebody made with kubectl becomes a simulated one: what its kubelet would have registered is filled
in, what the user gave stays.  The mark `podium.dev/simulated: "false"`, a label or an annotation, leaves a node
and its pods to a kubelet of somebody else.

The annotation `podium.dev/fail` silences the kubelet.  What the node controller would conclude from the silence
after forty seconds is written at once.
"""

from __future__ import annotations

from podium.embedded.nodes.conditions import Wanted, condition_patches
from podium.embedded.nodes.shapes import (
    HEALTHY,
    Document,
    Shape,
    addresses,
    capacity_of,
    node_info,
    well_known_labels,
)
from podium.kube.changes import Change, Patch
from podium.kube.resources import NODES
from podium.kube.times import format_time
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Node

FAIL = "podium.dev/fail"
SIMULATED = "podium.dev/simulated"

_LOST = "Kubelet stopped posting node status."
_BROKEN = "the kubelet was made to fail by the annotation podium.dev/fail"


def unless_foreign(node: Node) -> bool:
    """Drives all nodes but those with the mark podium.dev/simulated: "false": the embedded server's choice."""
    return _mark(node) != "false"


def marked_nodes(node: Node) -> bool:
    """Drives the nodes with the mark podium.dev/simulated only: the choice beside kubelets of others."""
    return _mark(node) not in ("", "false")


def _mark(node: Node) -> str:
    """The label or annotation podium.dev/simulated."""
    return (node.labels.get(SIMULATED) or node.annotations.get(SIMULATED) or "").lower()


def is_silent(node: Node) -> bool:
    """Its kubelet has been made to fail.  A word that is not known is not taken for a failure."""
    return node.annotations.get(FAIL, "").lower() in ("true", "unknown", "notready")


def node_changes(node: Node, cidr: str, now: float) -> tuple[Change, ...]:
    """The writes that make the Node say what its kubelet, or the silence of it, means."""
    changes: list[Change] = []
    if not is_silent(node):
        registered = _registration(node, cidr)
        if registered:
            changes.append(Patch(NODES, "", node.name, registered, content_type=STRATEGIC_PATCH, uid=node.uid))
    status = _status(node, cidr, now)
    if status:
        changes.append(Patch(NODES, "", node.name, {"status": status}, "status", STRATEGIC_PATCH, uid=node.uid))
    return tuple(changes)


def _registration(node: Node, cidr: str) -> Document:
    """Labels and the pod range, where they are missing."""
    document: Document = {}
    labels = {key: value for key, value in well_known_labels(node.name).items() if key not in node.labels}
    if labels:
        document["metadata"] = {"labels": labels}
    if cidr and not node.spec.pod_cidr:
        document["spec"] = {"podCIDR": cidr, "podCIDRs": [cidr]}
    return document


def _status(node: Node, cidr: str, now: float) -> Document:
    if is_silent(node):
        patches = condition_patches(node.status.conditions, _silent_conditions(node), now)
        return {"conditions": patches} if patches else {}
    status: Document = {}
    # A list that leaves something out takes it from the other one, or gets what a node usually has of it: a node
    # that says nothing of pods is meant to run some.
    capacity = {**capacity_of(Shape()), **(node.status.allocatable or {}), **(node.status.capacity or {})}
    allocatable = {**capacity, **(node.status.allocatable or {})}
    if capacity != node.status.capacity:
        status["capacity"] = capacity
    if allocatable != node.status.allocatable:
        status["allocatable"] = allocatable
    if not node.status.addresses:
        status["addresses"] = addresses(node.name, cidr)
    if not node.status.node_info.kubelet_version:
        status["nodeInfo"] = node_info(node.name)
    patches = condition_patches(node.status.conditions, (Wanted(*each) for each in HEALTHY), now)
    if patches:
        status["conditions"] = [{**patch, "lastHeartbeatTime": format_time(now)} for patch in patches]
    return status


def _silent_conditions(node: Node) -> list[Wanted]:
    if node.annotations[FAIL].lower() == "notready":
        return [Wanted("Ready", "False", "KubeletNotReady", _BROKEN)]
    return [Wanted(kind, "Unknown", "NodeStatusUnknown", _LOST) for kind, *_ in HEALTHY]
