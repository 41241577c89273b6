"""pdb: nobody is evicted whom a disruption budget protects.

Without this plugin budgets are broken as a last resort; with it, never.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.framework.plugin import Plugin
from podium.core.framework.session import Session
from podium.core.model.model import Task


class Pdb(Plugin):
    name = "pdb"

    def on_session_open(self, session: Session) -> None:
        self._budgets = session.budgets

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return self._allowed(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        return self._allowed(candidates)

    def victim_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        return self._allowed(tasks)

    def _allowed(self, candidates: Sequence[Task]) -> list[Task]:
        broken = self._budgets.broken_by(candidates)
        return [task for task in candidates if task.id not in broken]
