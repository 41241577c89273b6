"""priority: what matters more goes first, and may push out what matters less."""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.framework.plugin import Plugin
from podium.core.model.model import Gang, State, Task
from podium.core.model.subgroups import SubGroup

_PRIORITIES = 1 << 33  # more than there are among gangs of equal priority


class Priority(Plugin):
    name = "priority"
    PLAIN_ORDER = True

    def task_order(self, left: Task, right: Task) -> float:
        return right.priority - left.priority

    def job_order(self, left: Gang, right: Gang) -> float:
        return right.priority - left.priority or right.sub_priority - left.sub_priority

    def sub_job_order(self, left: SubGroup, right: SubGroup) -> float:
        return right.priority - left.priority

    def task_key(self, task: Task) -> float:
        return -task.priority

    def job_key(self, gang: Gang) -> float:
        return -(gang.priority * _PRIORITIES + gang.sub_priority)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Other gangs' tasks by the gangs' priorities, the own gang's by the tasks'."""
        return [
            task
            for task in candidates
            if (
                task.priority < preemptor.priority
                if task.gang is preemptor.gang
                else task.gang.priority < preemptor.gang.priority
            )
        ]

    def job_starving(self, gang: Gang) -> bool:
        return gang.ready + gang.waiting < len(gang.tasks) - gang.counts[State.FAILED]
