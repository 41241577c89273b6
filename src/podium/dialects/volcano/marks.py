"""What Volcano reads on pods: their group, role, queue, priority, and whether they may be pushed out.

A pod that names no group and that somebody controls is in the group which the controller of groups will make for
it (`podgroup_controller`): how many start together stands there.  That holds where this controller is known to
run; elsewhere such a pod is a gang of one, unless it says itself that it is not alone.
"""

from __future__ import annotations

from collections.abc import Container

from podium.dialects.kubernetes.membership import Marks, Membership, QueueMark, bearing
from podium.dialects.volcano.groups import GROUP_MIN_MEMBER, group_name
from podium.dialects.volcano.names import (
    ALLOCATION_GATE,
    GROUP_NAME,
    OWN_GROUP_NAME,
    PREEMPTABLE,
    QUEUE_NAME,
    TASK_PRIORITY,
    TASK_SPEC,
    group_id,
    queue_id,
)
from podium.kube.numbers import signed_number
from podium.kube.wire import Object, Pod


def _memberships(pod: Pod) -> tuple[Membership, ...]:
    """The groups that a pod names."""
    marks = pod.metadata.annotations
    if not marks:
        return ()
    name, other = marks.get(GROUP_NAME), marks.get(OWN_GROUP_NAME)
    names = (name, other) if name and other and name != other else (name or other,)
    return tuple(_member(pod.metadata.namespace, each, marks.get(TASK_SPEC, "")) for each in names if each)


def _waits_for_a_group(pod: Pod, schedulers: Container[str], grouped: bool) -> bool:
    """Whether a pod that names no group will be in one."""
    if pod.spec.scheduler_name not in schedulers or pod.metadata.controller is None:
        return False
    return grouped or GROUP_MIN_MEMBER in pod.annotations


def _member(namespace: str, name: str, role: str, *, awaited: bool = False) -> Membership:
    group = f"{namespace}/{name}"
    return Membership(group_id(namespace, name), group, f"PodGroup {group} of Volcano", role, awaited)


def _queue(obj: Object) -> QueueMark | None:
    marks = obj.metadata.annotations
    name = marks.get(QUEUE_NAME) if marks else None
    return QueueMark(queue_id(name), name, f"queue {name} of Volcano") if name else None


def _priority(pod: Pod) -> int | None:
    marks = pod.metadata.annotations
    text = marks.get(TASK_PRIORITY) if marks else None
    return signed_number(text) if text else None


def _preemptable(pod: Pod) -> bool | None:
    """The annotation goes before the label."""
    for marks in (pod.metadata.annotations, pod.metadata.labels):
        text = marks.get(PREEMPTABLE) if marks else None
        if text in ("true", "false"):
            return text == "true"
    return None


def marks_of(schedulers: Container[str], grouped: bool) -> Marks:
    """How pods are read; `grouped` says that the controller of groups runs."""

    def memberships(pod: Pod) -> tuple[Membership, ...]:
        named = _memberships(pod)
        if named or not _waits_for_a_group(pod, schedulers, grouped):
            return named
        role = pod.annotations.get(TASK_SPEC, "")
        return (_member(pod.metadata.namespace, group_name(pod), role, awaited=True),)

    marked = bearing(GROUP_NAME, OWN_GROUP_NAME, QUEUE_NAME, TASK_PRIORITY, PREEMPTABLE)
    return Marks(
        memberships,
        _queue,
        _priority,
        preemptable=_preemptable,
        gates=frozenset({ALLOCATION_GATE}),
        concerns=lambda signs: marked(signs) or (bool(signs.controller) and signs.scheduler in schedulers),
    )
