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
# In this order: the first that a pod bears.
_NAMING_LABELS = (POD_GROUP, COMMUNITY_POD_GROUP, POD_GROUP_NAME)
_NAMING_ANNOTATIONS = (POD_GROUP, POD_GROUP_NAME, NAME)


def group_label(pod: Pod) -> str:
    """The PodGroup that a pod names by its label; "" if it names none."""
    labels = pod.metadata.labels
    return (labels.get(POD_GROUP) or labels.get(COMMUNITY_POD_GROUP) or "") if labels else ""


def gang_name(pod: Pod) -> str:
    """The gang that a pod is in; "" for none."""
    return _naming(pod)[1]


def name_field(pod: Pod) -> str:
    """Where a pod names its gang."""
    return _naming(pod)[0]


def _naming(pod: Pod) -> tuple[str, str]:
    metadata = pod.metadata
    for place, keys, marks in (
        ("labels", _NAMING_LABELS, metadata.labels),
        ("annotations", _NAMING_ANNOTATIONS, metadata.annotations),
    ):
        for key in keys if marks else ():
            if marks and marks.get(key):
                return f"metadata.{place}[{key}]", marks[key]
    return "", ""


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
    """Like a number in Go: 0x, 0o and 0b say in which base it is written, and a leading 0 means 0o."""
    text = pod.metadata.labels.get(SUB_PRIORITY) if pod.metadata.labels else None
    if not text:
        return None
    try:
        number = int(text, 8 if text[:1] == "0" and text.isdecimal() else 0)
    except ValueError:
        return 0
    return number if _LEAST <= number <= _MOST else 0


MARKS = Marks(
    _memberships,
    sub_priority=_sub_priority,
    concerns=bearing(POD_GROUP, COMMUNITY_POD_GROUP, POD_GROUP_NAME, NAME, SUB_PRIORITY),
)
