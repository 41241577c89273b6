"""conformance: what the cluster itself lives on is never evicted."""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.framework.plugin import Plugin
from podium.core.model.model import Task


class Conformance(Plugin):
    name = "conformance"

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not task.protected]

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not task.protected]
