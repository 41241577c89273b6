"""Jobs: run pods until enough of them have succeeded or too many have failed.

One look at a Job goes through the same five steps each time: which pods are its own; what they add up to
(`job_tally`); whether that ends the Job; if not, how many pods it should have now (`job_pods`); and what the
status then says.  The end comes in two conditions.  The first (SuccessCriteriaMet or FailureTarget) records the
decision, after which remaining pods are deleted; the second (Complete or Failed) follows when every pod has been
counted and none is still terminating, so that whoever waits for it finds the resources free.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.embedded.controllers.job_pod_counts import (
    TRACKING,
    Counting,
    PodCounts,
    count_pods,
    failed,
    in_place_restarts,
    tracked,
)
from podium.embedded.controllers.job_pods import Plan, plan_pods
from podium.embedded.controllers.job_policies import FAIL_JOB, judge, success_rule
from podium.embedded.controllers.names import NamesIn
from podium.embedded.controllers.pods import claim, refused_pod, rest_after
from podium.errors import ApiError
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Create, Document
from podium.kube.conditions import set_condition
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.events import WARNING
from podium.kube.job_members import delete_pod
from podium.kube.mapping import controlled_by, itself
from podium.kube.resources import JOBS, PODS, Resource
from podium.kube.selectors import EVERYTHING, LabelMatch, from_selector
from podium.kube.times import format_time, parse_time
from podium.kube.wire import Condition, Job, Object, Pod, condition
from podium.kube.writing import (
    condition_documents,
    count,
    status_patch,
    without_finalizer,
)
from podium.schema.defaults import JOB_NAME

OWN_NAME = "kubernetes.io/job-controller"


class Ending(msgspec.Struct, frozen=True):
    """The decision that a Job is over."""

    success: bool
    reason: str
    message: str

    @property
    def interim(self) -> str:
        return "SuccessCriteriaMet" if self.success else "FailureTarget"

    @property
    def final(self) -> str:
        return "Complete" if self.success else "Failed"


COMPLETED = Ending(True, "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILURES = Ending(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
TOO_LATE = Ending(False, "DeadlineExceeded", "Job was active longer than specified deadline")
TOO_MANY_INDEXES = Ending(
    False, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)
FAILED_INDEXES = Ending(False, "FailedIndexes", "Job has failed indexes")


def finished(job: Job) -> Condition | None:
    """The condition that closed a Job, if it is closed."""
    for kind in ("Complete", "Failed"):
        found = condition(job.status.conditions, kind)
        if found is not None and found.status == "True":
            return found
    return None


def selector_of(job: Job) -> LabelMatch:
    return from_selector(job.spec.selector) if job.spec.selector else EVERYTHING


class JobController:
    """A pod that has lost its controller is adopted again by the Job that it was made for.

    Orphans are rare and looking for them is not free, so a Job looks only after one of its pods was seen without
    a controller; a Job with a selector of the user's own, which may match pods from before, looks always.
    """

    name = "job"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {JOBS: self._job, PODS: self._jobs_of_pod}
        self._manual: set[Key] = set()
        self._orphaned: set[Key] = set()

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        job = cache.find(JOBS, Job, key)
        if job is None and not cache.synced(JOBS):
            return NOTHING
        if job is None or finished(job) or job.spec.managed_by not in ("", OWN_NAME):
            self._manual.discard(key)
            self._orphaned.discard(key)
            return NOTHING
        adopt = key in self._manual or key in self._orphaned
        claimed = claim(cache, JOBS, job, selector_of(job), PODS, Pod, adopt=adopt, finalizer=TRACKING)
        if claimed.changes:
            return Outcome(claimed.changes)
        self._orphaned.discard(key)
        pod_counts = PodCounts(job, claimed.objects)
        started = _started(job, now)

        ending = _decided(job) or _failure(pod_counts, started, now) or _success_policy(pod_counts)
        plan = (
            Plan() if ending or job.deleting else plan_pods(pod_counts, NamesIn(cache, PODS, job.namespace), now)
        )
        if ending is None and _complete(pod_counts, plan):
            ending = COMPLETED
        step = count_pods(pod_counts, ending=ending is not None, failing=ending is not None and not ending.success)
        status, notes = _status(pod_counts, step, ending, started, now)

        changes: list[Change] = [*status_patch(JOBS, job, job.status, status, exact=True)]
        if ending is not None:
            changes += [delete_pod(pod) for pod in pod_counts.active]
        released = {pod.uid for pod in step.release}
        changes += [without_finalizer(PODS, pod, TRACKING) for pod in step.release]
        changes += [
            without_finalizer(PODS, pod, TRACKING)
            for pod in plan.take_back
            if tracked(pod) and pod.uid not in released
        ]
        changes += [delete_pod(pod) for pod in plan.take_back]
        changes += [Create(PODS, job.namespace, pod) for pod in plan.start]
        deadline = _deadline(job, started)
        timers = [at for at in (plan.again_at, deadline if ending is None else None) if at is not None]
        rest = rest_after(len(pod_counts.pods))
        return Outcome(tuple(changes), min(timers, default=None), notes + _pod_notes(job, plan), rest)

    def refused(self, key: Key, change: Change, error: ApiError, cache: Cache) -> Note | None:
        return refused_pod(JOBS, cache.find(JOBS, Job, key), change, error)

    def _job(self, obj: Object, cache: Cache) -> Iterable[Key]:
        if isinstance(obj, Job) and obj.spec.manual_selector:
            self._manual.add(key_of(obj))
        return itself(obj, cache)

    def _jobs_of_pod(self, obj: Object, cache: Cache) -> Iterable[Key]:
        if obj.metadata.controller is not None:
            return _controlling_job(obj, cache)
        if obj.deleting:
            return ()
        concerned = [key for key in self._manual if key[0] == obj.namespace and _selects(key, obj, cache)]
        name = obj.labels.get(JOB_NAME)
        if name:
            # Its labels still say which Job made it.
            self._orphaned.add((obj.namespace, name))
            concerned.append((obj.namespace, name))
        return concerned


_controlling_job = controlled_by(JOBS)


def _selects(key: Key, pod: Object, cache: Cache) -> bool:
    job = cache.find(JOBS, Job, key)
    return job is not None and selector_of(job)(pod.labels)


def _started(job: Job, now: float) -> float | None:
    if job.status.start_time:
        return parse_time(job.status.start_time)
    return None if job.spec.suspend else float(int(now))


def _deadline(job: Job, started: float | None) -> float | None:
    limit = job.spec.active_deadline_seconds
    return started + limit if limit is not None and started is not None and not job.spec.suspend else None


# --- is it over? -------------------------------------------------------------------------------------------


def _decided(job: Job) -> Ending | None:
    """An earlier look's decision stands, whatever has changed since."""
    for kind, success in (("SuccessCriteriaMet", True), ("FailureTarget", False)):
        found = condition(job.status.conditions, kind)
        if found is not None and found.status == "True":
            return Ending(success, found.reason, found.message)
    return None


def _failure(pod_counts: PodCounts, started: float | None, now: float) -> Ending | None:
    job = pod_counts.job
    for pod in pod_counts.pods:
        if failed(job, pod):
            verdict = judge(job, pod)
            if verdict.action == FAIL_JOB:
                return Ending(False, "PodFailurePolicy", verdict.message)
    if pod_counts.failed > job.spec.backoff_limit or _too_many_restarts(pod_counts):
        return TOO_MANY_FAILURES
    deadline = _deadline(job, started)
    if deadline is not None and now >= deadline:
        return TOO_LATE
    if pod_counts.per_index and pod_counts.failed_indexes:
        most = job.spec.max_failed_indexes
        if most is not None and len(pod_counts.failed_indexes) > most:
            return TOO_MANY_INDEXES
        if len(pod_counts.failed_indexes) + len(pod_counts.completed) >= pod_counts.completions:
            return FAILED_INDEXES
    return None


def _too_many_restarts(pod_counts: PodCounts) -> bool:
    """Pods that restart in place (OnFailure) do not fail one by one: their containers' restarts count."""
    limit = pod_counts.job.spec.backoff_limit
    restarts = in_place_restarts(pod_counts.job, pod_counts.pods)
    return restarts > 0 if limit == 0 else restarts >= limit


def _success_policy(pod_counts: PodCounts) -> Ending | None:
    if not pod_counts.indexed:
        return None
    rule = success_rule(pod_counts.job, pod_counts.completed, pod_counts.completions)
    return None if rule is None else Ending(True, "SuccessPolicy", f"Matched rules at index {rule}")


def _complete(pod_counts: PodCounts, plan: Plan) -> bool:
    if len(pod_counts.active) - len(plan.take_back) + len(plan.start) > 0:
        return False
    completions = pod_counts.job.spec.completions
    return pod_counts.succeeded > 0 if completions is None else pod_counts.succeeded >= completions


# --- what to write -----------------------------------------------------------------------------------------


def _status(
    pod_counts: PodCounts, step: Counting, ending: Ending | None, started: float | None, now: float
) -> tuple[Document, tuple[Note, ...]]:
    job = pod_counts.job
    conditions = condition_documents(job.status.conditions)
    notes: tuple[Note, ...] = ()
    completion_time = None
    if ending is not None:
        conditions = _with(conditions, ending.interim, "True", ending.reason, ending.message, now)
        if step.settled and not pod_counts.active and not pod_counts.terminating:
            conditions = _with(conditions, ending.final, "True", ending.reason, ending.message, now)
            notes = (_closing_note(job, ending),)
            completion_time = format_time(now) if ending.success else None
    elif not job.deleting:
        suspended = condition(job.status.conditions, "Suspended")
        was_suspended = suspended is not None and suspended.status == "True"
        if job.spec.suspend and not was_suspended:
            conditions = _with(conditions, "Suspended", "True", "JobSuspended", "Job suspended", now)
            notes = (Note(JOBS, job, "Suspended", "Job suspended"),)
            started = None
        elif was_suspended and not job.spec.suspend:
            conditions = _with(conditions, "Suspended", "False", "JobResumed", "Job resumed", now)
            notes = (Note(JOBS, job, "Resumed", "Job resumed"),)
            # The deadline is about being active without a break: a resumed Job begins anew.
            started = now
    status: Document = {
        "conditions": conditions or None,
        "startTime": format_time(started) if started is not None else None,
        "completionTime": completion_time,
        "active": count(len(pod_counts.active)),
        "ready": pod_counts.ready,
        "terminating": len(pod_counts.terminating),
        "succeeded": count(step.succeeded),
        "failed": count(step.failed),
        "uncountedTerminatedPods": {
            "succeeded": step.noted_succeeded or None,
            "failed": step.noted_failed or None,
        },
    }
    if pod_counts.indexed:
        status["completedIndexes"] = str(step.completed) or None
    if pod_counts.per_index:
        status["failedIndexes"] = str(pod_counts.failed_indexes)
    return status, notes


def _with(
    conditions: list[Document], kind: str, status: str, reason: str, message: str, now: float
) -> list[Document]:
    changed = set_condition(conditions, kind, status, reason, message, now)
    return [{"lastProbeTime": format_time(now), **each} if each["type"] == kind else each for each in changed]


def _closing_note(job: Job, ending: Ending) -> Note:
    if ending.success:
        return Note(JOBS, job, "Completed", "Job completed")
    return Note(JOBS, job, ending.reason, ending.message, WARNING)


def _pod_notes(job: Job, plan: Plan) -> tuple[Note, ...]:
    created = [
        Note(JOBS, job, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}") for pod in plan.start
    ]
    deleted = [Note(JOBS, job, "SuccessfulDelete", f"Deleted pod: {pod.name}") for pod in plan.take_back]
    return (*created, *deleted)
