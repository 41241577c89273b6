"""What Koordinator's gangs read on pods: the gang, and the order within equal priority.

A pod names its gang by the label of a PodGroup, by a light label or annotation, or by Koordinator's annotation, in
this order; only the first of them counts.
"""

from __future__ import annotations

from podium.dialects.koordinator.names import (
    COMMUNITY_POD_GROUP,
    NAME,
    POD_GROUP,
    POD_GROUP_NAME,
    SUB_PRIORITY,
    gang_id,
)
from podium.dialects.kubernetes.membership import Marks, Membership, bearing
from podium.kube.wire import Pod

_LEAST, _MOST = -(2**31), 2**31 - 1


def group_label(pod: Pod) -> str:
    """The PodGroup that a pod names by its label; "" if it names none."""
    labels = pod.metadata.labels
    return (labels.get(POD_GROUP) or labels.get(COMMUNITY_POD_GROUP) or "") if labels else ""


def gang_name(pod: Pod) -> str:
    """The gang that a pod is in; "" for none."""
    labels, annotations = pod.metadata.labels, pod.metadata.annotations
    if labels:
        named = labels.get(POD_GROUP) or labels.get(COMMUNITY_POD_GROUP) or labels.get(POD_GROUP_NAME)
        if named:
            return named
    if not annotations:
        return ""
    return annotations.get(POD_GROUP) or annotations.get(POD_GROUP_NAME) or annotations.get(NAME) or ""


def _memberships(pod: Pod) -> tuple[Membership, ...]:
    name = gang_name(pod)
    if not name:
        return ()
    namespace = pod.metadata.namespace
    what = "PodGroup" if group_label(pod) else "gang"
    return (
        Membership(gang_id(namespace, name), f"{namespace}/{name}", f"{what} {namespace}/{name} of Koordinator"),
    )


def _sub_priority(pod: Pod) -> int | None:
    """Like a number in Go: 0x, 0o and 0b say in which base it is written."""
    text = pod.metadata.labels.get(SUB_PRIORITY) if pod.metadata.labels else None
    if not text:
        return None
    try:
        number = int(text, 0)
    except ValueError:
        return 0
    return number if _LEAST <= number <= _MOST else 0


MARKS = Marks(
    _memberships,
    sub_priority=_sub_priority,
    concerns=bearing(POD_GROUP, COMMUNITY_POD_GROUP, POD_GROUP_NAME, NAME, SUB_PRIORITY),
)
