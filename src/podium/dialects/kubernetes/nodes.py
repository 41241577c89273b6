"""Nodes in the core's words."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.core.cluster.nodes import NodeFacts
from podium.core.model.labels import Taint
from podium.dialects.kubernetes.constraints import image_name
from podium.dialects.kubernetes.devices import in_thousandths, shared_by
from podium.dialects.kubernetes.quantities import read_amounts
from podium.kube.wire import CSINode, Node, condition
from podium.reasons import Refusal


class NodeReading(msgspec.Struct, frozen=True):
    """A node's facts, and what of it could not be read: a broken amount counts as none, on this node only."""

    facts: NodeFacts
    faults: tuple[Refusal, ...] = ()


def read_node(
    node: Node, drivers: CSINode | None = None, *, group_labels: Iterable[str] = (), queue: str = ""
) -> NodeReading:
    """A node as it is now.

    `drivers` says how many volumes it can attach, `group_labels` which labels name its group; `queue` is the id of
    the queue that it belongs to.
    """
    status = node.status
    given = status.allocatable if status.allocatable is not None else status.capacity
    allocatable, faults = read_amounts(given, f"node {node.name}: status.allocatable")
    devices, model = shared_by(allocatable, node.labels)
    if devices:
        allocatable = in_thousandths(allocatable, devices)
    # A node that nobody has reported on is no worse than its taints say.
    ready = condition(status.conditions, "Ready")
    facts = NodeFacts(
        name=node.name,
        uid=node.uid,
        allocatable=allocatable,
        capacity=read_amounts(status.capacity, "")[0],
        labels=node.labels,
        taints=tuple(Taint(each.key, each.effect, each.value) for each in node.spec.taints or ()),
        unschedulable=node.spec.unschedulable,
        ready=(ready is None or ready.status == "True") and not node.deleting,
        images={image_name(name): image.size_bytes for image in status.images or () for name in image.names or ()},
        volume_limits=_volume_limits(drivers),
        devices=devices,
        device_model=model,
        group=next((node.labels[label] for label in group_labels if label in node.labels), ""),
        queue=queue,
    )
    return NodeReading(facts, tuple(faults))


def _volume_limits(drivers: CSINode | None) -> dict[str, int]:
    if drivers is None:
        return {}
    counts = ((each.name, (each.allocatable or {}).get("count")) for each in drivers.spec.drivers)
    return {name: count for name, count in counts if isinstance(count, int)}
