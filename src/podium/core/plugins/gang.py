"""gang: all or nothing.

A gang is valid when enough members exist, ready when enough of them have a place, pipelined when enough have a
place or the promise of one.  Only what a gang has beyond its minimum may be taken from it.

A gang with sub-groups also needs, of each policy, so many sub-groups that are whole themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.model import READY, Gang, State, Task
from podium.core.plugin import Plugin, Vote
from podium.core.session import Session
from podium.core.subgroups import SubGroup
from podium.reasons import TOO_FEW, TOO_FEW_GROUPS, TOO_FEW_OF_ROLE, Refusal, refuse

_VALID = tuple(state for state in State if state not in (State.RELEASING, State.FAILED, State.UNKNOWN))
_PROMISED = READY | {State.PIPELINED}


class GangPlugin(Plugin):
    name = "gang"

    def on_session_open(self, session: Session) -> None:
        self._session = session

    def job_valid(self, gang: Gang) -> Refusal | None:
        if _roles_count(gang):
            for role, minimum in gang.minimum_by_role.items():
                have = gang.count_role(role, _VALID)
                if have < minimum:
                    return refuse(TOO_FEW_OF_ROLE, role=role, need=minimum, have=have)
        for policy in gang.policies:
            groups = [each for each in self._session.subgroups(gang) if each.policy is policy]
            if len(groups) < policy.minimum:
                return refuse(TOO_FEW_GROUPS, policy=policy.name, need=policy.minimum, have=len(groups))
        have = gang.count(_VALID)
        if have < gang.minimum:
            return refuse(TOO_FEW, need=gang.minimum, have=have)
        return None

    def job_ready(self, gang: Gang) -> bool:
        return self._missing(gang, READY) <= 0 and self._enough_groups(gang, READY)

    def shortfall(self, gang: Gang) -> int:
        return self._missing(gang, READY)

    def job_pipelined(self, gang: Gang) -> Vote:
        whole = self._missing(gang, _PROMISED) <= 0 and self._enough_groups(gang, _PROMISED)
        return Vote.PERMIT if whole else Vote.REJECT

    def sub_job_ready(self, group: SubGroup) -> bool:
        return group.missing() <= 0

    def sub_job_shortfall(self, group: SubGroup) -> int:
        return group.missing()

    def sub_job_pipelined(self, group: SubGroup) -> Vote:
        return Vote.PERMIT if group.missing(_PROMISED) <= 0 else Vote.REJECT

    def sub_job_order(self, left: SubGroup, right: SubGroup) -> float:
        """Those that are not whole yet go first."""
        return int(left.missing() <= 0) - int(right.missing() <= 0)

    def job_starving(self, gang: Gang) -> bool:
        return gang.ready + gang.waiting < gang.minimum

    def job_order(self, left: Gang, right: Gang) -> float:
        """Those that lack members go first; whether they are of the right roles is no matter here."""
        return self.job_key(left) - self.job_key(right)

    def job_key(self, gang: Gang) -> float:
        return int(gang.ready + gang.pending_best_effort >= gang.minimum)

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

    def _enough_groups(self, gang: Gang, states: frozenset[State]) -> bool:
        """Whether enough sub-groups of each policy are whole."""
        if not gang.policies:
            return True
        groups = self._session.subgroups(gang)
        return all(
            sum(each.policy is policy and each.missing(states) <= 0 for each in groups) >= policy.minimum
            for policy in gang.policies
            if policy.minimum
        )

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
