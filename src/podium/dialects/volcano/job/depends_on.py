"""Tasks that wait for others, and what a Job needs to start while they do.

The pods of a task with `dependsOn` are made when enough pods of the other tasks are up.  Until then they can
neither be placed nor waited for: were they counted, a Job whose minimum is all of its pods would wait for ever.
So the group, and the phases, count the tasks that have started, and are raised when others follow.
"""

from __future__ import annotations

from podium.dialects.volcano.job.pod_counts import PodCounts
from podium.dialects.volcano.job.state import Front, whole
from podium.dialects.volcano.job.types import TaskSpec


def front_of(pod_counts: PodCounts) -> Front:
    """How far a Job has come.  A task that has pods has started, whatever has become of those before it."""
    job = pod_counts.job
    if all(task.depends_on is None for task in job.spec.tasks):
        return whole(job)
    started = tuple(task for task in job.spec.tasks if pod_counts.of(task.name) or _may_start(pod_counts, task))
    waiting = tuple(task for task in job.spec.tasks if task not in started)
    if not waiting:
        return whole(job)
    least = min(job.spec.min_available, sum(task.minimum for task in started))
    return Front(started, least, _obstacle(pod_counts, waiting))


def _may_start(pod_counts: PodCounts, task: TaskSpec) -> bool:
    """Whether the tasks that this one depends on have come up."""
    depends = task.depends_on
    if depends is None or not depends.name:
        return True
    up = [_missing(pod_counts, name) <= 0 for name in depends.name]
    return any(up) if depends.iteration == "any" else all(up)


def _obstacle(pod_counts: PodCounts, waiting: tuple[TaskSpec, ...]) -> str:
    """What tasks wait for, as a sentence."""
    names = {task.name for task in waiting}
    for task in waiting:
        for name in (task.depends_on.name or ()) if task.depends_on is not None else ():
            before = pod_counts.job.task(name)
            if before is not None and name not in names and (missing := _missing(pod_counts, name)) > 0:
                up = before.minimum - missing
                return f"task {task.name} waits for {before.minimum} pods of task {name}, and {up} are up"
    return ""


def _missing(pod_counts: PodCounts, name: str) -> int:
    """How many more pods of a task have to be up before others may start."""
    task = pod_counts.job.task(name)
    return 0 if task is None else task.minimum - sum(each.up for each in pod_counts.of(name).values())
