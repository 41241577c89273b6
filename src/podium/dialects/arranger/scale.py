"""`kubectl scale` for jobs with one worker set.

The API can scale only a number outside of any list, and a job's counts stand in its list of worker sets.  So a job
with one set has the number a second time, as `spec.replicas`.  Whichever of the two has moved since the controller
last looked (`status.totalWorkers`) is carried over to the other.

A job cannot need more workers than there are, so scaling below minWorkersNum lowers it.  What it was is kept in an
annotation, and comes back with the workers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.dialects.arranger.names import MIN_BEFORE, TYJOBS
from podium.dialects.arranger.types import TYJob
from podium.kube.changes import Patch
from podium.kube.controller import Note, Outcome
from podium.kube.events import WARNING
from podium.kube.numbers import whole_number

Document = dict[str, Any]


def first_number(job: TYJob) -> list[Patch]:
    """Writes the number into a new job."""
    if len(job.spec.worker_sets) != 1 or job.spec.replicas is not None or job.status.stage:
        return []
    return [_patch(job, {"spec": {"replicas": job.spec.workers}})]


def carry_over(job: TYJob) -> Outcome | None:
    """The write that makes both numbers one again, and the minimum fit."""
    spec = job.spec
    if len(spec.worker_sets) != 1 or spec.replicas is None or spec.replicas == spec.workers:
        return None
    if job.status.total_workers != spec.workers:  # it is the set that has moved
        return Outcome((_patch(job, {"spec": {"replicas": spec.workers}}),))
    return _scaled(job, spec.replicas)


def _scaled(job: TYJob, replicas: int) -> Outcome:
    spec, kept = job.spec, whole_number(job.annotations.get(MIN_BEFORE, ""))
    lowered = kept is not None and spec.min_workers_num == spec.workers
    wanted = kept if lowered and kept is not None else spec.min_workers_num
    least = min(wanted, replicas)
    document: Document = msgspec.json.decode(msgspec.json.encode(spec.worker_sets[0]))
    patch: Document = {"spec": {"workerSets": [document | {"counts": replicas}], "minWorkersNum": least}}
    if least < wanted:
        patch["metadata"] = {"annotations": {MIN_BEFORE: str(wanted)}}
    elif kept is not None:
        patch["metadata"] = {"annotations": {MIN_BEFORE: None}}
    notes: tuple[Note, ...] = ()
    if least < spec.min_workers_num:
        said = f"the job was scaled to {replicas}: minWorkersNum is {least} until there are {wanted} workers again"
        notes = (Note(TYJOBS, job, "MinWorkersLowered", said, WARNING),)
    return Outcome((_patch(job, patch),), notes=notes)


def _patch(job: TYJob, patch: Document) -> Patch:
    lock = job.metadata.resource_version
    return Patch(TYJOBS, job.namespace, job.name, patch, uid=job.uid, resource_version=lock)
