"""Runs TrainingJobs: makes what belongs to one when the scheduler has found its places, and ends it.

    wanted is 0     it waits: nothing is there, or what was there goes
    wanted is n     master, etcd and pservers; when these objects are there, the trainer Job with n trainers
    another n       the Job's parallelism follows
    the end         pservers and master are stopped; the trainer Job of a failed job is suspended

A job that tolerates faults has failed when all its trainers have, and has succeeded when one has and none is at
work any more.  Another one has failed with its first trainer, and has succeeded when all have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium.dialects.paddle.admission import check_job
from podium.dialects.paddle.names import ETCD, MASTER, PSERVER, TRAINER, TRAININGJOBS, object_name
from podium.dialects.paddle.pods import etcd_service, object_of, replicas_of, roles_of
from podium.dialects.paddle.types import CREATING, FAILED, RUNNING, SCALING, SUCCEEDED, TrainingJob
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Patch
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.events import NORMAL, WARNING
from podium.kube.mapping import controlled_by, itself
from podium.kube.resources import JOBS, REPLICASETS, SERVICES, STATEFULSETS, Resource
from podium.kube.wire import Job, Object, ReplicaSet, StatefulSet
from podium.kube.writing import count, status_patch

Document = dict[str, Any]

_KINDS: Mapping[str, tuple[Resource, type[Object]]] = {
    MASTER: (REPLICASETS, ReplicaSet),
    ETCD: (STATEFULSETS, StatefulSet),
    PSERVER: (REPLICASETS, ReplicaSet),
    TRAINER: (JOBS, Job),
}


class TrainingJobController:
    """Keyed by TrainingJob."""

    name = "paddle-trainingjob"

    def __init__(self) -> None:
        owned = controlled_by(TRAININGJOBS)
        self.watches: Mapping[Resource, Mapper] = {
            TRAININGJOBS: itself,
            JOBS: owned,
            REPLICASETS: owned,
            STATEFULSETS: owned,
            SERVICES: owned,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        job = cache.find(TRAININGJOBS, TrainingJob, key)
        if job is None or job.deleting:
            return NOTHING  # what it owns goes with it
        parts = _Parts(job, cache)
        wrong = check_job(job) if not job.ended else []
        if wrong:
            return _end(job, parts, FAILED, str(wrong[0]))
        if parts.foreign is not None:
            return _end(job, parts, FAILED, parts.foreign)
        if job.ended:
            return Outcome(tuple(parts.end(failed=job.status.phase == FAILED)))
        phase, reason = _verdict(job, parts)
        if phase:
            return _end(job, parts, phase, reason)
        # The scheduler wants no more than the job's user does; in the status anybody may have written anything.
        wanted = min(job.wanted, job.spec.trainer.max_instance)
        changes = tuple(parts.make(wanted)) if wanted > 0 else tuple(parts.stop())
        return Outcome((*changes, *_status(job, parts, _phase(job, parts), "")))


class _Parts:
    """The objects of one job, as far as they are there."""

    def __init__(self, job: TrainingJob, cache: Cache) -> None:
        self._job = job
        self._cache = cache
        self.foreign: str | None = None  # what is in the way
        self._found: dict[str, Object] = {}
        for role, (resource, view) in _KINDS.items():
            name = object_name(job.name, role)
            found = cache.find(resource, view, (job.namespace, name))
            if found is None:
                continue
            owner = found.metadata.controller
            if owner is not None and owner.uid == job.uid:
                self._found[role] = found
            elif role in roles_of(job) and (owner is None or owner.kind != TRAININGJOBS.kind):
                self.foreign = f"metadata.name: {resource.kind} {name} is there already and not this job's"

    def get(self, role: str) -> Object | None:
        return self._found.get(role)

    @property
    def trainers(self) -> Job | None:
        found = self._found.get(TRAINER)
        return found if isinstance(found, Job) else None

    def make(self, wanted: int) -> Iterator[Change]:
        """What is missing, and other sizes.  Trainers come when the objects before them are there."""
        job = self._job
        whole = True
        for role in roles_of(job):
            size = wanted if role == TRAINER else replicas_of(job, role)
            resource, _ = _KINDS[role]
            found = self._found.get(role)
            if found is None:
                if role == TRAINER and not whole:
                    return
                whole = False
                if role == ETCD and self._cache.get(SERVICES, job.namespace, object_name(job.name, ETCD)) is None:
                    yield Create(SERVICES, job.namespace, etcd_service(job))
                yield Create(resource, job.namespace, object_of(job, role, size))
            elif not found.deleting and _size_of(found) != size:
                yield _resized(resource, found, size)

    def stop(self, *, trainers: bool = True) -> Iterator[Change]:
        """None of them is needed: the job waits.  Without `trainers` these go on."""
        for role, found in self._found.items():
            if (role != TRAINER or trainers) and not found.deleting and _size_of(found):
                yield _resized(_KINDS[role][0], found, 0)

    def end(self, *, failed: bool) -> Iterator[Change]:
        """Pservers, master and etcd are not needed any more; nor are the trainers of a job that has failed.

        These go with the Job being suspended: another parallelism says nothing to it once a pod has succeeded.
        """
        yield from self.stop(trainers=False)
        job = self.trainers
        if failed and job is not None and not job.deleting and not job.spec.suspend:
            yield Patch(JOBS, job.namespace, job.name, {"spec": {"suspend": True}}, uid=job.uid)


def _size_of(obj: Object) -> int:
    if isinstance(obj, Job):
        return obj.spec.parallelism
    assert isinstance(obj, ReplicaSet | StatefulSet)
    return obj.spec.replicas


def _resized(resource: Resource, obj: Object, size: int) -> Patch:
    field = "parallelism" if resource is JOBS else "replicas"
    return Patch(resource, obj.namespace, obj.name, {"spec": {field: size}}, uid=obj.uid)


# --- how it stands ---------------------------------------------------------------------------------------------


def _verdict(job: TrainingJob, parts: _Parts) -> tuple[str, str]:
    """Whether the job is over, and why."""
    trainers = parts.trainers
    if trainers is None or job.wanted <= 0:
        return "", ""
    status, size = trainers.status, max(1, trainers.spec.parallelism)
    if not job.spec.fault_tolerant:
        if status.failed:
            return FAILED, f"{status.failed} of its {size} trainers failed, and it does not tolerate faults"
        return (SUCCEEDED, "") if status.succeeded >= size else ("", "")
    if status.succeeded and not status.active:
        return SUCCEEDED, ""
    if status.failed >= size and not status.active and not status.succeeded:
        return FAILED, f"all its {size} trainers failed"
    return "", ""


def _phase(job: TrainingJob, parts: _Parts) -> str:
    """The phase of a job that is not over."""
    wanted, trainers = job.wanted, parts.trainers
    if wanted <= 0:
        return ""
    running = (trainers.status.ready or 0) if trainers is not None else 0
    if trainers is not None and trainers.status.succeeded:
        return RUNNING  # the others end, too
    if trainers is None or running < job.spec.trainer.min_instance:
        return RUNNING if job.status.phase in (RUNNING, SCALING) else CREATING
    return RUNNING if running == wanted else SCALING


def _end(job: TrainingJob, parts: _Parts, phase: str, reason: str) -> Outcome:
    """The job is over: that is written first, so that it is over whatever becomes of its parts."""
    changes = (*_status(job, parts, phase, reason), *parts.end(failed=phase == FAILED))
    if job.ended:
        return Outcome(changes)
    if phase == SUCCEEDED:
        return Outcome(changes, notes=(Note(TRAININGJOBS, job, "Succeeded", "the training is done", NORMAL),))
    return Outcome(changes, notes=(Note(TRAININGJOBS, job, "Failed", reason, WARNING),))


def _status(job: TrainingJob, parts: _Parts, phase: str, reason: str) -> tuple[Patch, ...]:
    trainers = parts.trainers
    counts = trainers.status if trainers is not None else None
    desired: Document = {
        "phase": phase or None,
        "reason": reason or None,
        "running": count(counts.ready or 0 if counts is not None else 0),
        "succeeded": count(counts.succeeded if counts is not None else 0),
        "failed": count(counts.failed if counts is not None else 0),
        "replica_statuses": [_replica_status(role, parts.get(role)) for role in roles_of(job)]
        if parts.get(TRAINER) is not None
        else None,
    }
    return status_patch(TRAININGJOBS, job, job.status, desired)


def _replica_status(role: str, obj: Object | None) -> Document:
    """The counts of a role, by what its pods do."""
    found: Document = {"training_resource_type": role.upper()}
    if isinstance(obj, Job):
        states = {"running": obj.status.ready or 0, "succeeded": obj.status.succeeded, "failed": obj.status.failed}
    elif isinstance(obj, ReplicaSet | StatefulSet):
        states = {"running": obj.status.ready_replicas}
    else:
        states = {}
    states = {state: number for state, number in states.items() if number}
    if states:
        found["state"] = next(iter(states))
        found["resource_states"] = states
    return found
