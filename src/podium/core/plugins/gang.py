"""gang: all or nothing.

A gang is valid when enough members exist, ready when enough of them have a place, pipelined when enough have a
place or the promise of one.  Only what a gang has beyond its minimum may be taken from it.

A gang that says what the cluster must have at least is refused where it has less.

A gang with sub-groups also needs, of each policy, so many sub-groups that are whole themselves.  What "enough" is,
`quorum` knows; here it is said to whoever asks plugins.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.framework.plugin import Plugin, Vote
from podium.core.framework.session import Session
from podium.core.model import quorum
from podium.core.model.model import Gang, Task
from podium.core.model.subgroups import SubGroup
from podium.queue_reasons import NOT_ADMITTED
from podium.reasons import Refusal, refuse


class GangPlugin(Plugin):
    name = "gang"
    PLAIN_ORDER = True
    GUARDS_PARTS = True

    def on_session_open(self, session: Session) -> None:
        self._session = session

    def job_valid(self, gang: Gang) -> Refusal | None:
        asks = gang.least_resources and not quorum.released(gang)
        return quorum.lacking(gang, self._groups(gang)) or (self._too_large(gang) if asks else None)

    def _too_large(self, gang: Gang) -> Refusal | None:
        """Why a gang that says what it needs at least cannot start, were all nodes empty."""
        total, dimensions = self._session.total, self._session.cluster.dimensions
        for name, need in gang.least_resources.items():
            column = dimensions.find(name)
            has = int(total[column]) if column is not None and column < len(total) else 0
            if need > has:
                return refuse(NOT_ADMITTED, resource=name, need=need, free=has, total=has)
        return None

    def job_ready(self, gang: Gang) -> bool:
        return quorum.satisfied(gang, groups=self._groups(gang))

    def shortfall(self, gang: Gang) -> int:
        return quorum.missing(gang)

    def job_pipelined(self, gang: Gang) -> Vote:
        return _vote(quorum.satisfied(gang, quorum.PROMISED, self._groups(gang)))

    def sub_job_ready(self, group: SubGroup) -> bool:
        return group.missing() <= 0

    def sub_job_shortfall(self, group: SubGroup) -> int:
        return group.missing()

    def sub_job_pipelined(self, group: SubGroup) -> Vote:
        return _vote(group.missing(quorum.PROMISED) <= 0)

    def sub_job_order(self, left: SubGroup, right: SubGroup) -> float:
        """Those that are not whole yet go first."""
        return int(left.missing() <= 0) - int(right.missing() <= 0)

    def job_starving(self, gang: Gang) -> bool:
        return quorum.starving(gang)

    def job_order(self, left: Gang, right: Gang) -> float:
        """Those that lack members go first; whether they are of the right roles is no matter here."""
        return self.job_key(left) - self.job_key(right)

    def job_key(self, gang: Gang) -> float:
        return int(quorum.reaches(gang, gang.ready + gang.pending_best_effort))

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return quorum.beyond_minimum(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        return quorum.beyond_minimum(candidates)

    def _groups(self, gang: Gang) -> Sequence[SubGroup]:
        return self._session.subgroups(gang) if gang.policies else ()


def _vote(whole: bool) -> Vote:
    return Vote.PERMIT if whole else Vote.REJECT
