"""Tells the users of a Job that would not survive many take-backs what to do: where admission could not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podium.dialects.aibee.job_admission import counts_evicted, may_have_rule
from podium.kube.cache import Cache, Key
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.events import WARNING
from podium.kube.mapping import itself
from podium.kube.resources import JOBS, Resource
from podium.kube.wire import Job, condition

REASON = "EvictionsCount"
_COUNTED = "pods that are taken back from a borrowed place count as failed, and spec.backoffLimit is {limit}: "
# A Job that is there keeps the policy that it was created with.
_ADD = (
    "create the Job with {{action: Ignore, onPodConditions: [{{type: DisruptionTarget}}]}} as the first of "
    "spec.podFailurePolicy.rules, or let `podium webhook` do so"
)
_CANNOT = (
    "only with restartPolicy Never, and fewer than 20 rules, a Job can have one more that ignores DisruptionTarget"
)
_ENDED = ("Complete", "Failed")


class JobController:
    """Keyed by Job.  It writes nothing but events."""

    name = "aibee-job"

    def __init__(self) -> None:
        self.watches: Mapping[Resource, Mapper] = {JOBS: itself}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        job = cache.find(JOBS, Job, key)
        if job is None or job.deleting or any(condition(job.status.conditions, each) for each in _ENDED):
            return NOTHING
        if job.status.start_time is not None and not job.status.failed:
            return NOTHING  # it was told when it was new, and nothing has counted so far
        template = msgspec.json.decode(job.spec.template)
        spec = {"template": template, "podFailurePolicy": job.spec.pod_failure_policy}
        if not counts_evicted(spec):
            return NOTHING
        message = _COUNTED + (_ADD if may_have_rule(spec) else _CANNOT)
        note = Note(JOBS, job, REASON, message.format(limit=job.spec.backoff_limit), WARNING)
        return Outcome(notes=(note,))
