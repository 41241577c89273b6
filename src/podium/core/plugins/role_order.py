"""roleorder: within a job, role after role as the job lists them (the gang's attribute `roles`).

Roles that are not listed come last; within a role it is the number in the task's name.
"""

from __future__ import annotations

from podium.core.framework.plugin import Plugin
from podium.core.framework.session import Session
from podium.core.model.attributes import ROLES
from podium.core.model.model import Gang, Task


class RoleOrder(Plugin):
    name = "roleorder"

    def on_session_open(self, session: Session) -> None:
        self._ranks: dict[str, dict[str, int]] = {}

    def task_order(self, left: Task, right: Task) -> float:
        return self.task_key(left) - self.task_key(right)

    def task_key(self, task: Task) -> float:
        ranks = self._of(task.gang)
        return ranks.get(task.role, len(ranks))

    def _of(self, gang: Gang) -> dict[str, int]:
        found = self._ranks.get(gang.id)
        if found is None:
            listed = gang.attributes.get(ROLES, "")
            roles = listed.split(",") if listed else []
            found = self._ranks[gang.id] = {role: rank for rank, role in enumerate(roles)}
        return found
