"""The pods of a Job: what a template becomes at one index of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.dialects.volcano.job.names import (
    BUDGETS,
    COOLDOWN_TIME,
    JOB_NAME,
    JOB_NAMESPACE,
    JOB_QUEUE,
    JOB_RETRY_COUNT,
    JOB_VERSION,
    JOBS,
    NUMA_POLICY,
    PARTITION_ID,
    REVOCABLE_ZONE,
    TASK_INDEX,
    TEMPLATE_UID,
    pod_name,
)
from podium.dialects.volcano.job.plugin import JobPlugin
from podium.dialects.volcano.job.registry import asking
from podium.dialects.volcano.job.types import Job, TaskSpec
from podium.dialects.volcano.job.volumes import mount_volumes
from podium.dialects.volcano.names import GROUP_NAME, PREEMPTABLE, TASK_SPEC
from podium.kube.conditions import owner_reference
from podium.kube.wire import Labels
from podium.kube.writing import pod_from_template

Document = dict[str, Any]


def pod_document(
    job: Job, task: TaskSpec, index: int, group: str, plugins: Sequence[JobPlugin], marks: Labels | None = None
) -> Document:
    """A pod that is about to be made.  `marks` are further annotations."""
    name = pod_name(job.name, task.name, index)
    pod = pod_from_template(bytes(task.template), job.namespace, name, owner_reference(job, JOBS))
    metadata, spec = pod["metadata"], pod["spec"]
    metadata.pop("finalizers", None)  # Volcano takes labels and annotations of a template, and nothing else
    metadata["annotations"] |= _annotations(job, task, index, group) | (marks or {})
    metadata["labels"] |= _labels(job, task, index)
    if not spec.get("schedulerName"):
        spec["schedulerName"] = job.spec.scheduler_name
    if not spec.get("priorityClassName") and job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    mount_volumes(job, spec)
    for plugin in plugins:
        with asking(plugin.name, "on_pod"):
            plugin.on_pod(pod, task, index)
    return pod


def _annotations(job: Job, task: TaskSpec, index: int, group: str) -> Labels:
    marks = {
        GROUP_NAME: group,
        JOB_NAME: job.name,
        JOB_QUEUE: job.spec.queue,
        JOB_VERSION: str(job.status.version),
        JOB_RETRY_COUNT: str(job.status.retry_count),
        TASK_SPEC: task.name,
        TASK_INDEX: str(index),
        TEMPLATE_UID: f"{job.name}-{task.name}",
    }
    if task.topology_policy:
        marks[NUMA_POLICY] = task.topology_policy
    reported = job.annotations
    for key in (PREEMPTABLE, COOLDOWN_TIME, REVOCABLE_ZONE):
        if key in reported:
            marks[key] = reported[key]
    for key in BUDGETS:
        if key in reported:
            marks[key] = reported[key]
            break
    return marks


def _labels(job: Job, task: TaskSpec, index: int) -> Labels:
    labels = {
        JOB_NAME: job.name,
        JOB_NAMESPACE: job.namespace,
        JOB_QUEUE: job.spec.queue,
        TASK_SPEC: task.name,
        TASK_INDEX: str(index),
    }
    if task.partition_policy is not None:
        labels[PARTITION_ID] = str(partition_of(task, index))
    for key in (PREEMPTABLE, COOLDOWN_TIME):
        if key in job.labels:
            labels[key] = job.labels[key]
    return labels


def partition_of(task: TaskSpec, index: int) -> int:
    """The part of its task that a pod belongs to; each pod is one of its own where there are no parts."""
    return index if task.partition_policy is None else index // max(1, task.partition_policy.partition_size)
