"""`kubectl scale` for Jobs with one task.

The API can scale only a number outside of any list, and a Job's replicas stand in its list of tasks.  So a Job
with one task has the number a second time, as `spec.replicas`.  Whichever of the two has moved since the
controller last looked (`status.replicas`) is carried over to the other.  A Job of several tasks may not
have such a number, so a server refuses to scale it: nobody can know which task is meant.
"""

from __future__ import annotations

from typing import Any

from podium.dialects.volcano.job_names import JOBS
from podium.dialects.volcano.job_types import Job, on_wire
from podium.kube.changes import Patch

Document = dict[str, Any]


def first_number(job: Job) -> list[Patch]:
    """Writes the number into a new Job.  Once: a server with Volcano's own definition drops it each time."""
    if len(job.spec.tasks) != 1 or job.spec.replicas is not None or job.status.state.phase:
        return []
    return [Patch(JOBS, job.namespace, job.name, {"spec": {"replicas": job.total}}, uid=job.uid)]


def carry_over(job: Job) -> Patch | None:
    """The write that makes both numbers one again; `job` is as it stands in the API."""
    spec = job.spec
    if len(spec.tasks) != 1 or spec.replicas is None or spec.replicas == job.total:
        return None
    wanted = _scaled(job, spec.replicas) if _was_scaled(job, spec.replicas) else {"replicas": job.total}
    lock = job.metadata.resource_version
    return Patch(JOBS, job.namespace, job.name, {"spec": wanted}, uid=job.uid, resource_version=lock)


def _was_scaled(job: Job, replicas: int) -> bool:
    """Whether it is the number of the Job that has moved, and not that of its task.

    A Job that has run under Volcano's own definition has nothing to compare with, and had no such number: somebody
    has just given it one.
    """
    before = job.status.replicas
    return before == job.total or (before == 0 and replicas > 0 and bool(job.status.state.phase))


def _scaled(job: Job, replicas: int) -> Document:
    """The one task with other replicas; a gang cannot need more pods than there are."""
    task = job.spec.tasks[0]
    wanted = on_wire(task) | {"replicas": replicas, "template": task.pod_template()}
    if task.min_available is not None:
        wanted["minAvailable"] = min(task.min_available, replicas)
    return {"tasks": [wanted], "minAvailable": min(job.spec.min_available, replicas)}
