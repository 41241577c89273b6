"""How many pods a Job should have now: which to start, which to take back, when to try again after failures."""

from __future__ import annotations

from collections.abc import Container
from itertools import islice

import msgspec

from podium.embedded.controllers.job_indexes import Indexes
from podium.embedded.controllers.job_pod_counts import (
    INDEX,
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    TRACKING,
    PodCounts,
    annotated_count,
    attempts,
    failed,
    finished_at,
    index_of,
    only_replaces_failed,
)
from podium.embedded.controllers.job_policies import judge
from podium.embedded.controllers.names import LONGEST_NAME, generated_names, sisters_seed
from podium.embedded.controllers.pods import victims_first
from podium.kube.changes import Document
from podium.kube.conditions import owner_reference
from podium.kube.hashes import SUFFIX_LENGTH
from podium.kube.job_members import MOST_PODS_AT_ONCE
from podium.kube.resources import JOBS
from podium.kube.wire import Job, Pod
from podium.kube.writing import pod_from_template

FIRST_DELAY = 10.0
LONGEST_DELAY = 600.0


class Plan(msgspec.Struct):
    """What to do about a Job's pods."""

    take_back: list[Pod] = []  # deleted without being counted
    start: list[Document] = []
    again_at: float | None = None


def plan_pods(pod_counts: PodCounts, taken: Container[str], now: float) -> Plan:
    """The next step towards the wanted number of active pods; new ones get names that are not `taken`."""
    job = pod_counts.job
    if job.spec.suspend:
        return Plan(take_back=list(pod_counts.active))
    wanted = _wanted(pod_counts)
    surplus = _surplus(pod_counts, max(0, len(pod_counts.active) - wanted))
    if surplus:
        return Plan(take_back=surplus[:MOST_PODS_AT_ONCE])
    occupied = len(pod_counts.active) + (len(pod_counts.terminating) if only_replaces_failed(job) else 0)
    lacking = min(wanted - occupied, MOST_PODS_AT_ONCE)
    if lacking <= 0:
        return Plan()
    if not pod_counts.per_index:
        ready_at = _backoff_end(pod_counts)
        if ready_at > now:
            return Plan(again_at=ready_at)
    if not pod_counts.indexed:
        return Plan(start=_plain_pods(pod_counts, taken, lacking))
    indexes = _pending_indexes(pod_counts, lacking)
    if not pod_counts.per_index:
        return Plan(start=_indexed_pods(pod_counts, taken, indexes))
    due = {index: _index_backoff_end(pod_counts.waiting.get(index)) for index in indexes}
    later = [at for at in due.values() if at > now]
    begin = [index for index in indexes if due[index] <= now]
    return Plan(start=_indexed_pods(pod_counts, taken, begin), again_at=min(later, default=None))


def _wanted(pod_counts: PodCounts) -> int:
    """Without completions a Job runs until one pod succeeds; the others may then finish but get no successor."""
    spec = pod_counts.job.spec
    if spec.completions is None:
        return len(pod_counts.active) if pod_counts.succeeded else spec.parallelism
    return max(0, min(spec.completions - pod_counts.succeeded - len(pod_counts.failed_indexes), spec.parallelism))


def _surplus(pod_counts: PodCounts, least: int) -> list[Pod]:
    """At least so many pods to take back; of an Indexed Job also all without a place or with another's."""
    if not pod_counts.indexed:
        return victims_first(pod_counts.active)[:least] if least else []
    chosen: list[Pod] = []
    by_index: dict[int, list[Pod]] = {}
    for pod in pod_counts.active:
        index = index_of(pod)
        if index is None or not pod_counts.valid(pod):
            chosen.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    rest: list[Pod] = []
    for pods in by_index.values():
        *repeated, kept = victims_first(pods) if len(pods) > 1 else pods
        chosen += repeated
        rest.append(kept)
    if len(chosen) < least:
        chosen += victims_first(rest)[: least - len(chosen)]
    return chosen


def _pending_indexes(pod_counts: PodCounts, count: int) -> list[int]:
    pods = [*pod_counts.active, *(pod_counts.terminating if only_replaces_failed(pod_counts.job) else ())]
    taken = Indexes.of(index for pod in pods if (index := index_of(pod)) is not None)
    return (taken | pod_counts.completed | pod_counts.failed_indexes).missing(pod_counts.completions, count)


# --- back-off ----------------------------------------------------------------------------------------------


def _delay(failures: int) -> float:
    """10 s after the first failure in a row, twice as long after each further one, 10 minutes at the most."""
    return min(LONGEST_DELAY, FIRST_DELAY * (1 << min(failures - 1, 16)))


def _backoff_end(pod_counts: PodCounts) -> float:
    """When the next pod may start: the failures since the last success decide.

    They are read off the pods that are still there instead of being remembered, so a restart keeps them; pods
    that a user has removed no longer slow the Job down.
    """
    last_success = max(
        (finished_at(pod) for pod in pod_counts.pods if pod.status.phase == "Succeeded"), default=0.0
    )
    ends = [
        finished_at(pod)
        for pod in pod_counts.pods
        if failed(pod_counts.job, pod) and finished_at(pod) > last_success
    ]
    return max(ends) + _delay(len(ends)) if ends else 0.0


def _index_backoff_end(last: Pod | None) -> float:
    return finished_at(last) + _delay(attempts(last) + 1) if last is not None else 0.0


# --- new pods ----------------------------------------------------------------------------------------------


def _plain_pods(pod_counts: PodCounts, taken: Container[str], count: int) -> list[Document]:
    job = pod_counts.job
    seed = sisters_seed(job.uid, (pod.uid for pod in pod_counts.pods))
    names = generated_names(f"{job.name}-", taken, seed)
    return [_pod(job, name, f"{job.name}-") for name in islice(names, count)]


def _indexed_pods(pod_counts: PodCounts, taken: Container[str], indexes: list[int]) -> list[Document]:
    job = pod_counts.job
    seed = sisters_seed(job.uid, (pod.uid for pod in pod_counts.pods))
    pods = []
    for index in indexes:
        tail = f"-{index}-"
        base = job.name[: LONGEST_NAME - SUFFIX_LENGTH - len(tail)] + tail
        pod = _pod(job, next(generated_names(base, taken, seed, index)), base)
        pod["metadata"]["annotations"][INDEX] = str(index)
        pod["metadata"]["labels"][INDEX] = str(index)
        pod["spec"]["hostname"] = f"{job.name}-{index}"
        for container in [*pod["spec"].get("containers", ()), *(pod["spec"].get("initContainers") or ())]:
            _set_index(container)
        if pod_counts.per_index:
            _copy_failures(job, pod_counts.waiting.get(index), pod["metadata"]["annotations"])
        pods.append(pod)
    return pods


def _pod(job: Job, name: str, generate_name: str) -> Document:
    owner = owner_reference(job, JOBS)
    pod = pod_from_template(bytes(job.spec.template), job.namespace, name, owner, generate_name)
    if TRACKING not in pod["metadata"]["finalizers"]:
        pod["metadata"]["finalizers"].append(TRACKING)
    return pod


def _set_index(container: Document) -> None:
    variables = container.get("env") or []
    if all(each.get("name") != "JOB_COMPLETION_INDEX" for each in variables):
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
        container["env"] = [*variables, {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]


def _copy_failures(job: Job, replaced: Pod | None, annotations: Document) -> None:
    counted = ignored = 0
    if replaced is not None:
        counted = annotated_count(replaced, INDEX_FAILURES)
        ignored = annotated_count(replaced, INDEX_IGNORED_FAILURES)
        if judge(job, replaced).counts:
            counted += 1
        else:
            ignored += 1
    annotations[INDEX_FAILURES] = str(counted)
    if ignored:
        annotations[INDEX_IGNORED_FAILURES] = str(ignored)
