"""What a Job's pods add up to, and how each of them is counted exactly once.

The API has no transactions over two objects, so a finished pod is counted in three writes that may be cut by a
crash anywhere:

1. the Job's status takes the pod's UID into `uncountedTerminatedPods`;
2. the pod loses the finalizer `batch.kubernetes.io/job-tracking`, which until then has kept it from vanishing;
3. the Job's status drops the UID from the list and raises the counter by one, both in the same write.

Step 2 happens only to pods that step 1 has written down, and step 3 only to UIDs whose pod has lost the finalizer
(or is gone, which implies it).  So a pod with the finalizer is either not noted yet or noted and waiting; a pod
without it is noted or counted.  Whoever starts from a fresh list finds it in exactly one of these states.  An
Indexed Job needs no list for successes: the set of completed indexes cannot hold one twice.  The status is
written under the Job's resource version, so two writers cannot both take step 3.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from podium.embedded.controllers.job_indexes import Indexes
from podium.embedded.controllers.job_policies import FAIL_INDEX, judge
from podium.embedded.controllers.pods import active, terminating
from podium.kube.job_members import container_restarts
from podium.kube.numbers import whole_number
from podium.kube.times import parse_time
from podium.kube.wire import ContainerStatus, Job, Pod, PodSpec, UncountedTerminatedPods, condition

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"

# Keeps the list of UIDs in the status below some 20 KB; what is left is counted right afterwards.
MOST_UNCOUNTED = 500


def tracked(pod: Pod) -> bool:
    return TRACKING in (pod.metadata.finalizers or ())


def index_of(pod: Pod) -> int | None:
    """The pod's completion index; None where there is no valid one."""
    return whole_number(pod.annotations.get(INDEX, ""))


def annotated_count(pod: Pod, annotation: str) -> int:
    return whole_number(pod.annotations.get(annotation, "")) or 0


def only_replaces_failed(job: Job) -> bool:
    """Whether a terminating pod keeps its place until it has ended."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def failed(job: Job, pod: Pod) -> bool:
    """A deleted pod counts as failed at once, unless the Job waits for how it ends."""
    if pod.status.phase == "Failed":
        return True
    return pod.deleting and pod.status.phase != "Succeeded" and not only_replaces_failed(job)


def in_place_restarts(job: Job, pods: list[Pod]) -> int:
    """Restarts of containers in pods that have not ended, where the Job's pods restart in place."""
    if restart_policy(bytes(job.spec.template)) != "OnFailure":
        return 0
    return container_restarts(pods)


@lru_cache(maxsize=1024)
def restart_policy(template: bytes) -> str:
    return msgspec.json.decode(template, type=_Template).spec.restart_policy


class _Template(msgspec.Struct):
    spec: PodSpec = PodSpec()


def finished_at(pod: Pod) -> float:
    """When a pod ended, as far as its status shows."""
    statuses = pod.status.container_statuses or ()
    ends = [_finish(each) for each in statuses]
    if ends and all(ends):
        return max(ends)
    ready = condition(pod.status.conditions, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time:
        return parse_time(ready.last_transition_time)
    if pod.metadata.deletion_timestamp:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        return parse_time(pod.metadata.deletion_timestamp) - grace
    return parse_time(pod.metadata.creation_timestamp)


def _finish(status: ContainerStatus) -> float:
    state = status.state
    return parse_time(state.terminated.finished_at) if state is not None and state.terminated is not None else 0.0


class PodCounts:
    """The standing of one Job at one look."""

    def __init__(self, job: Job, pods: list[Pod]) -> None:
        self.job = job
        self.indexed = job.spec.completion_mode == "Indexed"
        self.completions = job.spec.completions or 0
        self.pods = sorted(pods, key=lambda pod: index_of(pod) or 0) if self.indexed else pods
        self.active = [pod for pod in self.pods if active(pod)]
        self.terminating = [pod for pod in self.pods if terminating(pod)]
        self.ready = sum(pod.ready for pod in self.active)
        noted = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
        self.noted_succeeded = noted.succeeded or []
        self.noted_failed = noted.failed or []
        self._known = {*self.noted_succeeded, *self.noted_failed}
        fresh = [pod for pod in self.pods if tracked(pod) and self.valid(pod) and pod.uid not in self._known]
        self.newly_succeeded = [pod for pod in fresh if pod.status.phase == "Succeeded"]
        self.newly_failed = [pod for pod in fresh if failed(job, pod)]
        self.completed_before = Indexes.parse(job.status.completed_indexes, self.completions)
        self.completed = self.completed_before | Indexes.of(self._indexes(self.newly_succeeded))
        self.failed_indexes = self._failed_indexes()
        self.waiting = self._awaiting_replacement() if self.per_index else {}

    @property
    def per_index(self) -> bool:
        return self.indexed and self.job.spec.backoff_limit_per_index is not None

    @property
    def succeeded(self) -> int:
        """Successes whether written down, noted or new."""
        if self.indexed:
            return len(self.completed)
        return self.job.status.succeeded + len(self.noted_succeeded) + len(self.newly_succeeded)

    @property
    def failed(self) -> int:
        """Failures that count, likewise."""
        new = sum(judge(self.job, pod).counts for pod in self.newly_failed)
        return self.job.status.failed + len(self.noted_failed) + new

    def valid(self, pod: Pod) -> bool:
        """Whether the pod has a place in the Job: an index below completions, where indexes matter."""
        if not self.indexed:
            return True
        index = index_of(pod)
        return index is not None and index < self.completions

    def _indexes(self, pods: list[Pod]) -> list[int]:
        return [index for pod in pods if self.indexed and (index := index_of(pod)) is not None]

    def _failed_indexes(self) -> Indexes:
        if not self.per_index:
            return Indexes()
        before = Indexes.parse(self.job.status.failed_indexes, self.completions)
        gone = [pod for pod in self.pods if tracked(pod) and self.valid(pod) and self._fails_index(pod)]
        return before | Indexes.of(self._indexes(gone))

    def _fails_index(self, pod: Pod) -> bool:
        if not failed(self.job, pod):
            return False
        verdict = judge(self.job, pod)
        if verdict.action == FAIL_INDEX:
            return True
        limit = self.job.spec.backoff_limit_per_index or 0
        return verdict.counts and annotated_count(pod, INDEX_FAILURES) >= limit

    def _awaiting_replacement(self) -> dict[int, Pod]:
        """The last failed pod of each index that will be tried again.

        It keeps its finalizer until the replacement is there, because the replacement's failure count is copied
        from it: were it deleted first, the index would begin to count from zero.
        """
        running = set(self._indexes(self.active))
        found: dict[int, Pod] = {}
        for pod in self.pods:
            if not tracked(pod) or not self.valid(pod) or not failed(self.job, pod):
                continue
            index = index_of(pod)
            assert index is not None
            if index in running or index in self.completed or index in self.failed_indexes:
                continue
            last = found.get(index)
            if last is None or _attempt(last) <= _attempt(pod):
                found[index] = pod
        return found


def _attempt(pod: Pod) -> tuple[int, float]:
    return attempts(pod), finished_at(pod)


def attempts(pod: Pod) -> int:
    """How many pods of the same index failed before this one, counted or not."""
    return annotated_count(pod, INDEX_FAILURES) + annotated_count(pod, INDEX_IGNORED_FAILURES)


class Counting(msgspec.Struct):
    """One step of the counting: the new content of the status, and the pods to let go once it is written."""

    succeeded: int
    failed: int
    noted_succeeded: list[str]
    noted_failed: list[str]
    completed: Indexes
    release: list[Pod]
    more: bool  # some finished pods wait for the next step

    @property
    def settled(self) -> bool:
        return not (self.noted_succeeded or self.noted_failed or self.release or self.more)


def count_pods(pod_counts: PodCounts, *, ending: bool, failing: bool) -> Counting:
    """Counts what lost its finalizer, and notes what may lose it now.

    When the Job is `ending` every pod is let go; when it is `failing`, what has not ended counts as failed.
    """
    job, waiting = pod_counts.job, {pod.uid for pod in pod_counts.waiting.values()}
    held = {pod.uid for pod in pod_counts.pods if tracked(pod)}
    kept_succeeded = [uid for uid in pod_counts.noted_succeeded if uid in held]
    kept_failed = [uid for uid in pod_counts.noted_failed if uid in held]
    step = Counting(
        succeeded=job.status.succeeded + len(pod_counts.noted_succeeded) - len(kept_succeeded),
        failed=job.status.failed + len(pod_counts.noted_failed) - len(kept_failed),
        noted_succeeded=kept_succeeded,
        noted_failed=kept_failed,
        completed=pod_counts.completed_before,
        release=[],
        more=False,
    )
    noted = {*kept_succeeded, *kept_failed}
    completed: list[int] = []
    for pod in pod_counts.pods:
        if not tracked(pod):
            continue
        succeeded, lost = pod.status.phase == "Succeeded", failed(job, pod)
        if not (ending or job.deleting or succeeded or (lost and pod.uid not in waiting)):
            continue
        if len(completed) + len(step.noted_succeeded) + len(step.noted_failed) >= MOST_UNCOUNTED:
            step.more = True
            break
        step.release.append(pod)
        if pod.uid in noted or not pod_counts.valid(pod):
            continue
        if succeeded:
            index = index_of(pod)
            if pod_counts.indexed and index is not None:
                completed.append(index)
            else:
                step.noted_succeeded.append(pod.uid)
        elif (lost or failing) and judge(job, pod).counts:
            step.noted_failed.append(pod.uid)
    if pod_counts.indexed:
        step.completed = pod_counts.completed_before | Indexes.of(completed)
        step.succeeded = len(step.completed)
    return step
