"""conformance: what the cluster itself lives on is never evicted."""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.model import Task
from podium.core.plugin import Plugin


class Conformance(Plugin):
    name = "conformance"

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not task.protected]

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not task.protected]
