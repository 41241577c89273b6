"""The PodGroup of a Job: what has to start together, and what that takes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.volcano.groups import queue_of_namespace
from podium.dialects.volcano.job.names import ANSWERED_GENERATION, JOBS, PARTITION_ID, group_name
from podium.dialects.volcano.job.state import Front
from podium.dialects.volcano.job.types import Job, TaskSpec, on_wire
from podium.dialects.volcano.names import DEFAULT_QUEUE, PODGROUPS, SCHEDULER, SCHEDULER_NAME, TASK_SPEC
from podium.dialects.volcano.types import NetworkTopology, PodGroup
from podium.dialects.volcano.usage import Usage, pod_usage
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Patch
from podium.kube.conditions import owner_reference
from podium.kube.resources import PRIORITYCLASSES
from podium.kube.times import parse_time
from podium.kube.wire import Labels, PodSpec, PriorityClass

Document = dict[str, Any]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# A scheduler that looks at groups has said something about one by then, in seconds.
_UNHEEDED = 5.0
_FOLLOWING = ("minMember", "minTaskMember", "minResources", "priorityClassName", "subGroupPolicy")


def group_of(job: Job, cache: Cache) -> PodGroup | None:
    """The Job's group; one that Volcano 1.1 made is called like the Job."""
    for name in (group_name(job.name, job.uid), job.name):
        found = cache.find(PODGROUPS, PodGroup, (job.namespace, name))
        if (
            found is not None
            and found.metadata.controller is not None
            and found.metadata.controller.uid == job.uid
        ):
            return found
    return None


def pods_due(job: Job, group: PodGroup | None, grouping: Container[str]) -> float | None:
    """From when on pods may be made: 0 once the group was let into its queue, None while that is decided on.

    A scheduler that knows no groups, which those of `grouping` do, lets none in and is not waited for.
    """
    if group is None or group.deleting or group.status.phase == "Pending":
        return None
    if group.status.phase:
        return 0.0
    if job.spec.scheduler_name in grouping:
        return None
    return parse_time(group.metadata.creation_timestamp) + _UNHEEDED


def group_changes(job: Job, front: Front, group: PodGroup | None, cache: Cache) -> list[Change]:
    """What makes the group as the Job wants it."""
    spec = _spec(job, front, cache)
    if group is None:
        return [Create(PODGROUPS, job.namespace, _document(job, spec))]
    seen = on_wire(group.spec)
    wanted = {field: spec.get(field) for field in _FOLLOWING}
    patch = {
        field: _replaced(seen.get(field), value)
        for field, value in wanted.items()
        if (value or None) != (seen.get(field) or None)
    }
    return [Patch(PODGROUPS, job.namespace, group.name, {"spec": patch}, uid=group.uid)] if patch else []


def _replaced(seen: Any, wanted: Any) -> Any:
    """A value in a merge patch: keys of a map that are no longer wanted have to be named."""
    if isinstance(seen, Mapping) and isinstance(wanted, Mapping):
        return {key: wanted.get(key) for key in {**seen, **wanted}}
    return wanted


def _document(job: Job, spec: Document) -> Document:
    metadata: Document = {
        "name": group_name(job.name, job.uid),
        "namespace": job.namespace,
        "ownerReferences": [owner_reference(job, JOBS)],
    }
    marks = {k: v for k, v in job.annotations.items() if k not in (_LAST_APPLIED, ANSWERED_GENERATION)}
    if job.spec.scheduler_name != SCHEDULER:
        marks[SCHEDULER_NAME] = job.spec.scheduler_name
    for field, value in (("labels", job.labels), ("annotations", marks)):
        if value:
            metadata[field] = dict(value)
    kind = {"apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind}
    return {**kind, "metadata": metadata, "spec": {each: value for each, value in spec.items() if value}}


def _spec(job: Job, front: Front, cache: Cache) -> Document:
    spec = job.spec
    return {
        "minMember": front.least,
        "minTaskMember": {task.name: task.minimum for task in front.started},
        "minResources": least_resources(job, front, cache),
        "queue": _queue(job, cache),
        "priorityClassName": spec.priority_class_name,
        "networkTopology": _topology(spec.network_topology),
        "subGroupPolicy": [_sub_group(task) for task in front.started if task.partition_policy is not None],
    }


def _queue(job: Job, cache: Cache) -> str:
    """The Job's, unless that is the default one and its namespace has another."""
    named = job.spec.queue
    return queue_of_namespace(job.namespace, cache) or named if named == DEFAULT_QUEUE else named


def _sub_group(task: TaskSpec) -> Document:
    parts = task.partition_policy
    assert parts is not None
    policy: Document = {
        "name": task.name,
        "subGroupSize": parts.partition_size,
        "minSubGroups": parts.min_partitions,
        "labelSelector": {"matchLabels": {TASK_SPEC: task.name}},
        "matchLabelKeys": [PARTITION_ID],
    }
    topology = _topology(parts.network_topology)
    return policy | ({"networkTopology": topology} if topology else {})


def _topology(topology: NetworkTopology | None) -> Document | None:
    if topology is None:
        return None
    reported: Document = {"mode": topology.mode}
    if topology.highest_tier_allowed is not None:
        reported["highestTierAllowed"] = topology.highest_tier_allowed
    if topology.highest_tier_name:
        reported["highestTierName"] = topology.highest_tier_name
    return reported


# --- what the least number of pods takes -------------------------------------------------------------------


def least_resources(job: Job, front: Front, cache: Cache) -> Labels:
    """What the pods that start together take, counted as a quota counts: tasks of high priority first."""
    priorities = Priorities(each for each in cache.all(PRIORITYCLASSES) if isinstance(each, PriorityClass))
    pods = {task.name: _pod_of(bytes(task.template)) for task in front.started}

    def priority(task: TaskSpec) -> int:
        return priorities.value(pods[task.name].priority_class or job.spec.priority_class_name)

    total = Usage()
    for task, count in _first(sorted(front.started, key=priority, reverse=True), front.least):
        total.add(pods[task.name].usage, count)
    return total.quantities()


class _Template(msgspec.Struct, frozen=True):
    spec: PodSpec = PodSpec()


class _OnePod(msgspec.Struct, frozen=True):
    """What a template's pods take, and the class that orders them."""

    usage: Usage
    priority_class: str


@lru_cache(maxsize=4096)
def _pod_of(template: bytes) -> _OnePod:
    """It is asked at every look, and many Jobs have the same template."""
    spec = msgspec.json.decode(template, type=_Template).spec
    return _OnePod(pod_usage(spec), spec.priority_class_name)


def _first(tasks: list[TaskSpec], wanted: int) -> Iterator[tuple[TaskSpec, int]]:
    """How many pods of each task are among the first `wanted`."""
    least = sum(task.minimum for task in tasks)
    portions = [(task, task.replicas) for task in tasks]
    if wanted >= least:
        rest = [(task, task.replicas - task.minimum) for task in tasks]
        portions = [(task, task.minimum) for task in tasks] + rest
    for task, most in portions:
        count = min(most, wanted)
        wanted -= count
        if count > 0:
            yield task, count
