"""A Job's pods as the controller sees them: whose place each has, how many there are, and which were lost.

Nobody tells a controller that was not running which pods have been taken away meanwhile.  The Job's own status
does: it is written before the controller takes pods away and after it has seen new ones, so it never counts a pod
that the controller itself has given up.  If fewer pods are there than it counts, somebody else has taken the
others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from podium.dialects.volcano.job_names import JOB_VERSION, OUT_OF_SYNC, TASK_INDEX
from podium.dialects.volcano.job_state import Counts
from podium.dialects.volcano.job_types import Job, TaskSpec, TaskState
from podium.dialects.volcano.names import TASK_SPEC
from podium.kube.cache import Cache
from podium.kube.numbers import whole_number
from podium.kube.resources import PODS
from podium.kube.wire import Pod, condition

_PHASES = {"Pending": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}


class Member(msgspec.Struct, frozen=True):
    """A pod in its place."""

    pod: Pod
    task: str
    index: int
    version: int

    @property
    def leaving(self) -> bool:
        """Whether it is on its way out, or has been told to be."""
        return self.pod.deleting or self.pod.annotations.get(OUT_OF_SYNC) == "true"

    @property
    def phase(self) -> str:
        return self.pod.status.phase


class Tally:
    """The pods of one Job at one moment."""

    def __init__(self, job: Job, cache: Cache) -> None:
        self.job = job
        self.members = [
            _member(job, pod)
            for _, pod in cache.owned_by(job.uid, PODS)
            if isinstance(pod, Pod)
            and pod.metadata.controller is not None
            and pod.metadata.controller.uid == job.uid
        ]
        self._by_task: dict[str, dict[int, Member]] = {}
        for each in self.members:
            self._by_task.setdefault(each.task, {})[each.index] = each

    def of(self, task: str) -> dict[int, Member]:
        """A task's pods by index."""
        return self._by_task.get(task, {})

    def current(self, member: Member) -> bool:
        """Whether a pod belongs to the Job's present try; what becomes of older ones is no news."""
        return member.version >= self.job.status.version

    def surplus(self) -> Iterator[Member]:
        """Pods without a place: beyond their task's replicas, or of no task at all."""
        replicas = {task.name: task.replicas for task in self.job.spec.tasks}
        return (each for each in self.members if not 0 <= each.index < replicas.get(each.task, 0))

    def lost(self, task: TaskSpec) -> list[int]:
        """The places of a task whose pods others have taken away since the status was written."""
        counted = (self.job.status.task_status_count or {}).get(task.name)
        if counted is None:
            return []
        there = {index for index, each in self.of(task.name).items() if not each.leaving}
        if len(there) >= counted.pods:
            return []
        return [index for index in range(task.replicas) if index not in there]

    def count(self, given_up: Collection[str] = ()) -> Counts:
        """What the pods add up to once those of these UIDs are on their way out."""
        counts = Counts()
        for each in self.members:
            if each.leaving or each.pod.uid in given_up:
                counts.terminating += 1
                continue
            name = _PHASES.get(each.phase, "unknown")
            setattr(counts, name, getattr(counts, name) + 1)
            if each.phase == "Succeeded":
                counts.succeeded_of[each.task] = counts.succeeded_of.get(each.task, 0) + 1
        return counts

    def by_task(self, given_up: Collection[str] = ()) -> dict[str, TaskState]:
        """The pods of each task by phase, as the status tells it."""
        found: dict[str, TaskState] = {}
        for task, members in self._by_task.items():
            phases = [m.phase for m in members.values() if not m.leaving and m.pod.uid not in given_up]
            if phases:
                found[task] = TaskState({phase: phases.count(phase) for phase in sorted(set(phases))})
        return found


def _member(job: Job, pod: Pod) -> Member:
    """Pods of Volcano 1.1 say their task only; their index is the end of their name."""
    marks = pod.annotations
    index = whole_number(marks.get(TASK_INDEX) or pod.name.rpartition("-")[2])
    version = whole_number(marks.get(JOB_VERSION, "0"))
    return Member(pod, marks.get(TASK_SPEC, ""), -1 if index is None else index, version or 0)


def exit_code(pod: Pod) -> int:
    """How the first container ended; 0 for well, or not at all."""
    for each in (pod.status.container_statuses or ())[:1]:
        state = each.state
        if state is not None and state.terminated is not None:
            return state.terminated.exit_code
    return 0


def restarts(members: Iterable[Member]) -> int:
    """How often containers of pods that have not ended were started again."""
    return sum(
        each.restart_count
        for member in members
        if member.phase in ("Running", "Pending")
        for some in (member.pod.status.container_statuses, member.pod.status.init_container_statuses)
        for each in some or ()
    )


def is_up(member: Member) -> bool:
    """Whether others may rely on a pod: it has done its work, or is doing it."""
    if member.leaving:
        return False
    if member.phase == "Succeeded":
        return True
    statuses = member.pod.status.container_statuses or []
    return member.phase == "Running" and all(each.ready for each in statuses)


def is_looked_at(member: Member) -> bool:
    """Whether a scheduler has said something about a pod: where it goes, or why it waits."""
    return bool(member.pod.spec.node_name) or condition(member.pod.status.conditions, "PodScheduled") is not None
