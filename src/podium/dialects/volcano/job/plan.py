"""What to do about a Job's pods: which to take away, which to make, and what has to be there before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from podium.dialects.volcano.job.names import EVICTED_AT, pod_name
from podium.dialects.volcano.job.plugin import JobPlugin
from podium.dialects.volcano.job.pod_counts import PodCounts
from podium.dialects.volcano.job.pods import partition_of, pod_document
from podium.dialects.volcano.job.policies import POD_EVICTED, Request
from podium.dialects.volcano.job.state import (
    RESTART_PARTITION,
    RESTART_POD,
    RESTARTING,
    RESUME_JOB,
    Do,
    Front,
    Retain,
    Step,
    is_last_try,
)
from podium.dialects.volcano.job.types import Job
from podium.kube.cache import Cache
from podium.kube.changes import Create, Read
from podium.kube.job_members import MOST_PODS_AT_ONCE, Member, Role, to_create
from podium.kube.resources import PODS
from podium.kube.times import format_time


def pods_to_delete(pod_counts: PodCounts, step: Step, request: Request) -> list[Member]:
    """The pods that a step takes away.

    A restart is decided once and carried out until it is done: in phase Restarting the pods of older versions go,
    whatever the look was for.
    """
    job = pod_counts.job
    there = [each for each in pod_counts.all if not each.leaving]
    chosen: list[Member] = []
    if step.do is Do.KILL:
        retain = Retain.SOFT if _keeps_ended(job, step) else step.retain
        chosen = [each for each in there if retain is Retain.NONE or not each.pod.finished]
    elif step.do is Do.KILL_TARGET:
        chosen = list(_targets(pod_counts, request))
    else:
        replicas = {task.name: task.replicas for task in job.spec.tasks}
        chosen = [each for each in pod_counts.surplus(replicas) if not each.leaving]
    if job.status.state.phase == RESTARTING:
        chosen += _left_over(job, (each for each in there if not pod_counts.current(each)))
    asked_to_go = [each for each in pod_counts.all if each.leaving and not each.pod.deleting]
    return list({each.pod.uid: each for each in (*chosen, *asked_to_go)}.values())


def _keeps_ended(job: Job, step: Step) -> bool:
    """Whether it is the last try, whose pods stay to be looked at.  In a restart the try is counted already."""
    if job.status.state.phase == RESTARTING:
        return _was_last(job)
    return is_last_try(job)


def _was_last(job: Job) -> bool:
    return job.status.retry_count >= job.spec.max_retry


def _left_over(job: Job, old: Iterable[Member]) -> list[Member]:
    """Pods of an earlier version that a restart has not taken away yet."""
    keeps_ended = _was_last(job) or job.status.state.reason == RESUME_JOB
    return [each for each in old if not (keeps_ended and each.pod.finished)]


def _targets(pod_counts: PodCounts, request: Request) -> Iterator[Member]:
    task = request.task
    if task is None:
        return
    parts = {partition_of(task, index) for index in request.places}
    for index, each in pod_counts.of(task.name).items():
        if each.leaving:
            continue
        if request.action == RESTART_POD and index not in request.places:
            continue
        if request.action == RESTART_PARTITION and partition_of(task, index) not in parts:
            continue
        yield each


def counts_stay(request: Request, step: Step, victims: list[Member]) -> str:
    """The task whose pods are still counted as before.

    That pods are lost is seen from the count alone.  As long as their loss has not been answered in full, it must
    stay to be seen: the controller may end before it has taken the others away.
    """
    lost = step.do is Do.KILL_TARGET and request.event == POD_EVICTED and request.task is not None
    return request.task.name if lost and victims and request.task is not None else ""


def doubts(pod_counts: PodCounts, cache: Cache) -> tuple[Read, ...]:
    """Questions about pods that the status has counted and nobody here has ever seen.

    After a start the list of pods may be older than that of Jobs, and a pod that is not in it be there all the
    same.  An answer makes the doubt known as settled, whatever it is.
    """
    job, found = pod_counts.job, []
    for task in job.spec.tasks:
        for index in pod_counts.lost(task):
            name = pod_name(job.name, task.name, index)
            doubt = f"{job.uid}/{name}/{job.status.version}"
            seen = index in pod_counts.of(task.name) or cache.vacated(PODS, job.namespace, name)
            if not seen and not cache.is_tombstone(doubt):
                found.append(Read(PODS, job.namespace, name, doubt))
    return tuple(found[:MOST_PODS_AT_ONCE])


# --- pods to make ------------------------------------------------------------------------------------------


class PodsToCreate(msgspec.Struct):
    """Pods to make.  Those of `first` carry word of a loss that a policy waits to act on."""

    first: list[Create] = []
    then: list[Create] = []
    blocked: list[str] = []  # names that somebody else's pods have


def pods_to_create(
    pod_counts: PodCounts,
    front: Front,
    cache: Cache,
    group: str,
    plugins: list[JobPlugin],
    waiting: frozenset[tuple[str, int]],
    now: float,
) -> PodsToCreate:
    """The pods that are missing of the tasks that may start."""
    job, found = pod_counts.job, PodsToCreate()
    tasks = {task.name: task for task in front.started}
    roles = [Role(task.name, task.replicas, task.minimum) for task in front.started]
    creation = to_create(pod_counts, roles, front.least, partial(pod_name, job.name), job.namespace, cache)
    found.blocked = creation.blocked
    for name, index in creation.places:
        task, lost = tasks[name], (name, index) in waiting
        marks = {EVICTED_AT: format_time(now)} if lost else {}
        document = pod_document(job, task, index, group, plugins, marks)
        (found.first if lost else found.then).append(Create(PODS, job.namespace, document))
    return found
