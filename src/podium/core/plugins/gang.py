"""gang: all or nothing.

A gang is valid when enough members exist, ready when enough of them have a place, pipelined when enough have a
place or the promise of one.  Only what a gang has beyond its minimum may be taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.model import READY, Gang, State, Task
from podium.core.plugin import Plugin, Vote
from podium.reasons import TOO_FEW, TOO_FEW_OF_ROLE, Refusal, refuse

_VALID = tuple(state for state in State if state not in (State.RELEASING, State.FAILED, State.UNKNOWN))


class GangPlugin(Plugin):
    name = "gang"

    def job_valid(self, gang: Gang) -> Refusal | None:
        if _roles_count(gang):
            for role, minimum in gang.minimum_by_role.items():
                have = gang.count_role(role, _VALID)
                if have < minimum:
                    return refuse(TOO_FEW_OF_ROLE, role=role, need=minimum, have=have)
        have = gang.count(_VALID)
        if have < gang.minimum:
            return refuse(TOO_FEW, need=gang.minimum, have=have)
        return None

    def job_ready(self, gang: Gang) -> bool:
        return self._missing(gang, READY) <= 0

    def shortfall(self, gang: Gang) -> int:
        return self._missing(gang, READY)

    def job_pipelined(self, gang: Gang) -> Vote:
        missing = self._missing(gang, READY | {State.PIPELINED})
        return Vote.PERMIT if missing <= 0 else Vote.REJECT

    def job_starving(self, gang: Gang) -> bool:
        return gang.ready + gang.waiting < gang.minimum

    def job_order(self, left: Gang, right: Gang) -> float:
        """Those that are not ready yet go first."""
        return int(self.job_ready(left)) - int(self.job_ready(right))

    def job_key(self, gang: Gang) -> float:
        return int(self.job_ready(gang))

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return self._surplus(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        return self._surplus(candidates)

    def _surplus(self, candidates: Sequence[Task]) -> list[Task]:
        left: dict[str, int] = {}
        victims = []
        for task in candidates:
            spare = left.get(task.gang.id, task.gang.ready)
            if spare > task.gang.minimum:
                left[task.gang.id] = spare - 1
                victims.append(task)
        return victims

    def _missing(self, gang: Gang, states: frozenset[State]) -> int:
        """How many members are missing, in all or in the role that misses most."""
        missing = gang.minimum - gang.count(states) - gang.pending_best_effort
        if _roles_count(gang):
            for role, minimum in gang.minimum_by_role.items():
                waiting = sum(
                    1
                    for task in gang.tasks.values()
                    if task.role == role and task.state is State.PENDING and task.best_effort
                )
                missing = max(missing, minimum - gang.count_role(role, states) - waiting)
        return missing


def _roles_count(gang: Gang) -> bool:
    """Minimums by role only bind when the minimum in all is not below their sum."""
    return bool(gang.minimum_by_role) and gang.minimum >= sum(gang.minimum_by_role.values())
