"""`kubectl scale` for Jobs with one task.

The API can scale only a number outside of any list, and a Job's replicas stand in its list of tasks.  So a Job
with one task has the number a second time, as `spec.replicas`.  Whichever of the two has moved since the
controller last looked (`status.replicas`) is carried over to the other.  A Job of several tasks may not
have such a number, so a server refuses to scale it: nobody can know which task is meant.

A gang cannot need more pods than there are, so scaling below a minimum lowers it.  What it was is kept in an
annotation, and comes back with the pods: scaled to nothing and up again, a Job is the gang that it was.  A minimum
that somebody has written meanwhile is theirs and stays.  Either way an event says what was changed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.dialects.volcano.job.names import JOBS, SCALED_BELOW
from podium.dialects.volcano.job.types import Job, on_wire
from podium.kube.changes import Patch
from podium.kube.controller import Note, Outcome
from podium.kube.events import WARNING

Document = dict[str, Any]


class _Minimums(msgspec.Struct, frozen=True, rename="camel"):
    """What the annotation holds: the minimums as they were, and the replicas to which they were lowered."""

    replicas: int
    job: int
    task: int | None = None


def first_number(job: Job) -> list[Patch]:
    """Writes the number into a new Job.  Once: a server with Volcano's own definition drops it each time."""
    if len(job.spec.tasks) != 1 or job.spec.replicas is not None or job.status.state.phase:
        return []
    return [Patch(JOBS, job.namespace, job.name, {"spec": {"replicas": job.total}}, uid=job.uid)]


def carry_over(job: Job) -> Outcome | None:
    """The write that makes both numbers one again, and the minimums fit; `job` is as it stands in the API."""
    spec = job.spec
    if len(spec.tasks) != 1:
        return None
    kept = _kept(job)
    if spec.replicas is not None and spec.replicas != job.total and _was_scaled(job, spec.replicas):
        return _scaled(job, spec.replicas, kept)
    if kept is not None and kept.replicas != job.total:
        return _scaled(job, job.total, kept)
    if spec.replicas not in (None, job.total):
        return Outcome((_patch(job, {"spec": {"replicas": job.total}}),))
    return None


def _was_scaled(job: Job, replicas: int) -> bool:
    """Whether it is the number of the Job that has moved, and not that of its task.

    A Job that has run under Volcano's own definition has nothing to compare with, and had no such number: somebody
    has just given it one.
    """
    before = job.status.replicas
    return before == job.total or (before == 0 and replicas > 0 and bool(job.status.state.phase))


def _scaled(job: Job, replicas: int, kept: _Minimums | None) -> Outcome:
    """The one task with other replicas, and the minimums as far as these allow."""
    spec, task = job.spec, job.spec.tasks[0]
    wanted = _wanted(job, kept)
    changed = on_wire(task) | {"replicas": replicas, "template": task.pod_template()}
    if wanted.task is not None:
        changed["minAvailable"] = min(wanted.task, replicas)
    least = min(wanted.job, replicas)
    patch: Document = {"spec": {"tasks": [changed], "minAvailable": least}}
    if spec.replicas not in (None, replicas):
        patch["spec"]["replicas"] = replicas
    if max(wanted.job, wanted.task or 0) > replicas:
        patch |= _annotated(msgspec.structs.replace(wanted, replicas=replicas))
    elif kept is not None:
        patch |= _annotated(None)
    return Outcome((_patch(job, patch),), notes=_notes(job, least, wanted.job, replicas))


def _wanted(job: Job, kept: _Minimums | None) -> _Minimums:
    """The minimums as their user wants them: those that stand there, unless this controller has lowered them."""
    least, of_task = job.spec.min_available, job.spec.tasks[0].min_available
    if kept is not None:
        if least == min(kept.job, kept.replicas):
            least = kept.job
        if kept.task is not None and of_task == min(kept.task, kept.replicas):
            of_task = kept.task
    return _Minimums(job.total, least, of_task)


def _kept(job: Job) -> _Minimums | None:
    """Anybody may write annotations: what cannot be read says nothing."""
    try:
        return msgspec.json.decode(job.annotations.get(SCALED_BELOW, "null"), type=_Minimums | None)
    except (msgspec.DecodeError, RecursionError):
        return None


def _annotated(wanted: _Minimums | None) -> Document:
    value = msgspec.json.encode(wanted).decode() if wanted is not None else None
    return {"metadata": {"annotations": {SCALED_BELOW: value}}}


def _patch(job: Job, patch: Document) -> Patch:
    lock = job.metadata.resource_version
    return Patch(JOBS, job.namespace, job.name, patch, uid=job.uid, resource_version=lock)


def _notes(job: Job, least: int, wanted: int, replicas: int) -> tuple[Note, ...]:
    before = job.spec.min_available
    if least < before:
        reported = f"the Job was scaled to {replicas}: minAvailable is {least} until there are {wanted} pods again"
        return (Note(JOBS, job, "MinAvailableLowered", reported, WARNING),)
    if least > before:
        again = "again" if least == wanted else f"and {wanted} when there are so many"
        return (
            Note(
                JOBS, job, "MinAvailableRestored", f"the Job has {replicas} pods: minAvailable is {least} {again}"
            ),
        )
    return ()
