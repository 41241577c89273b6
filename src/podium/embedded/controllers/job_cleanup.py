"""What is left of Jobs: the tracking finalizer on pods that nobody counts, and Jobs past their time to live."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.embedded.controllers.job import OWN_NAME, finished
from podium.embedded.controllers.job_pod_counts import TRACKING, tracked
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Delete
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself
from podium.kube.resources import JOBS, PODS, Resource
from podium.kube.times import parse_time
from podium.kube.wire import Job, Object, Pod
from podium.kube.writing import without_finalizer


class JobOrphanController:
    """Lets go of pods that wait to be counted by a Job that is gone, finished or another one of the same name."""

    name = "job-orphan"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {PODS: _uncounted, JOBS: _pods_of}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        pod = cache.find(PODS, Pod, key)
        if pod is None or not tracked(pod) or _has_counter(pod, cache):
            return NOTHING
        # By the version: the Job may adopt the pod in this very moment, and then counts it.
        patch = without_finalizer(PODS, pod, TRACKING)
        return Outcome((msgspec.structs.replace(patch, resource_version=pod.metadata.resource_version),))


def _has_counter(pod: Pod, cache: Cache) -> bool:
    """Whether some controller still counts this pod."""
    owner = pod.metadata.controller
    if owner is None:
        return False
    if owner.kind != JOBS.kind or owner.api_version != JOBS.api_version:
        return True
    job = cache.find(JOBS, Job, (pod.namespace, owner.name))
    if job is None or job.uid != owner.uid:
        return False
    return job.spec.managed_by not in ("", OWN_NAME) or finished(job) is None


def _uncounted(obj: Object, cache: Cache) -> Iterable[Key]:
    if isinstance(obj, Pod) and tracked(obj) and not _has_counter(obj, cache):
        yield key_of(obj)


def _pods_of(obj: Object, cache: Cache) -> Iterable[Key]:
    alive = cache.find(JOBS, Job, key_of(obj))
    if alive is None or alive.uid != obj.uid or finished(alive):
        for _, pod in cache.owned_by(obj.uid, PODS):
            yield key_of(pod)


class JobTimeToLiveController:
    """Deletes finished Jobs, with all that they own, `ttlSecondsAfterFinished` after their end."""

    name = "ttl-after-finished"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {JOBS: itself}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        job = cache.find(JOBS, Job, key)
        if job is None or job.deleting or job.spec.ttl_seconds_after_finished is None:
            return NOTHING
        end = finished(job)
        if end is None:
            return NOTHING
        due = parse_time(end.last_transition_time) + job.spec.ttl_seconds_after_finished
        if now < due:
            return Outcome(again_at=due)
        return Outcome((Delete(JOBS, job.namespace, job.name, uid=job.uid, propagation="Foreground"),))
