"""What Volcano reads on pods: their group, role, queue, priority, and whether they may be pushed out."""

from __future__ import annotations

from podium.dialects.kubernetes.membership import Marks, Membership
from podium.dialects.volcano.names import (
    GROUP_NAME,
    PREEMPTABLE,
    QUEUE_NAME,
    TASK_PRIORITY,
    TASK_SPEC,
    group_id,
    queue_id,
)
from podium.kube.wire import Pod


def _membership(pod: Pod) -> Membership | None:
    marks = pod.metadata.annotations
    name = marks.get(GROUP_NAME) if marks else None
    if not marks or not name:
        return None
    namespace = pod.metadata.namespace
    group = f"{namespace}/{name}"
    return Membership(group_id(namespace, name), group, f"PodGroup {group} of Volcano", marks.get(TASK_SPEC, ""))


def _queue(pod: Pod) -> str | None:
    marks = pod.metadata.annotations
    name = marks.get(QUEUE_NAME) if marks else None
    return queue_id(name) if name else None


def _priority(pod: Pod) -> int | None:
    marks = pod.metadata.annotations
    text = marks.get(TASK_PRIORITY) if marks else None
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def _preemptable(pod: Pod) -> bool | None:
    """The annotation goes before the label."""
    for marks in (pod.metadata.annotations, pod.metadata.labels):
        text = marks.get(PREEMPTABLE) if marks else None
        if text in ("true", "false"):
            return text == "true"
    return None


MARKS = Marks(_membership, _queue, _priority, _preemptable)
