"""A Job's pods as the controller sees them: whose place each has, how many there are, and which were lost.

A controller that was not running sees no event for pods that have been deleted meanwhile.  The Job's own status
does: it is written before the controller takes pods away and after it has seen new ones, so it never counts a pod
that the controller itself has given up.  If fewer pods are there than it counts, somebody else has taken the
others.
"""

from __future__ import annotations

from collections.abc import Collection

from podium.dialects.volcano.job.names import JOB_VERSION, OUT_OF_SYNC, TASK_INDEX
from podium.dialects.volcano.job.state import Counts
from podium.dialects.volcano.job.types import Job, TaskSpec, TaskState
from podium.dialects.volcano.names import TASK_SPEC
from podium.kube.cache import Cache
from podium.kube.job_members import Member, Members, controlled_pods
from podium.kube.numbers import whole_number
from podium.kube.wire import Pod, condition

_PHASES = {"Pending": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}


class PodCounts(Members):
    """The pods of one Job at one moment; a role is a task."""

    def __init__(self, job: Job, cache: Cache) -> None:
        super().__init__(map(_member, controlled_pods(cache, job)), job.status.version)
        self.job = job

    def lost(self, task: TaskSpec) -> list[int]:
        """The places of a task whose pods others have taken away since the status was written."""
        counted = (self.job.status.task_status_count or {}).get(task.name)
        if counted is None:
            return []
        return self.missing(task.name, task.replicas) if self.staying(task.name) < counted.pods else []

    def count(self, given_up: Collection[str] = ()) -> Counts:
        """What the pods add up to once those of these UIDs are on their way out."""
        counts = Counts()
        phases: dict[str, int] = {}
        for each in self.all:
            if each.leaving or (given_up and each.pod.uid in given_up):
                counts.terminating += 1
                continue
            phase = each.pod.status.phase
            phases[phase] = phases.get(phase, 0) + 1
            if phase == "Succeeded":
                counts.succeeded_of[each.role] = counts.succeeded_of.get(each.role, 0) + 1
        for phase, count in phases.items():
            name = _PHASES.get(phase, "unknown")
            setattr(counts, name, getattr(counts, name) + count)
        return counts

    def by_task(self, given_up: Collection[str] = ()) -> dict[str, TaskState]:
        """The pods of each task by phase, as the status has them."""
        phases = self.phases(given_up)
        return {task: TaskState(dict(sorted(counts.items()))) for task, counts in phases.items()}


def _member(pod: Pod) -> Member:
    """Pods of Volcano 1.1 say their task only; their index is the end of their name."""
    marks = pod.annotations
    index = whole_number(marks.get(TASK_INDEX) or pod.name.rpartition("-")[2])
    version = whole_number(marks.get(JOB_VERSION, "0"))
    return Member(
        pod,
        marks.get(TASK_SPEC, ""),
        -1 if index is None else index,
        version or 0,
        marks.get(OUT_OF_SYNC) == "true",
    )


def is_looked_at(member: Member) -> bool:
    """Whether a scheduler has said something about a pod: where it goes, or why it waits."""
    return bool(member.pod.spec.node_name) or condition(member.pod.status.conditions, "PodScheduled") is not None
