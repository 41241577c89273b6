"""wholegang: jobs that start with all their tasks or not at all, whatever their minimum.

What it asks for beside the minimum is that no task is left without a place, and the same holds when such a job
grows.  Tasks that ask for no room are in nobody's way: they count as placed.
"""

from __future__ import annotations

from podium.core.framework.plugin import Vote
from podium.core.model.model import Gang, State
from podium.core.plugins.job_policy import JobPolicy, for_argument


class WholeGang(JobPolicy):
    name = "wholegang"
    ARGUMENTS = (for_argument("wholegang"),)

    def job_ready(self, gang: Gang) -> bool:
        return not self.is_for(gang) or _unplaced(gang) == 0

    def shortfall(self, gang: Gang) -> int:
        return _unplaced(gang) if self.is_for(gang) else 0

    def job_pipelined(self, gang: Gang) -> Vote:
        return Vote.REJECT if self.is_for(gang) and _unplaced(gang) else Vote.ABSTAIN


def _unplaced(gang: Gang) -> int:
    """Tasks that wait for room; those behind a gate are not to be had at all."""
    if not gang.counts[State.PENDING]:
        return 0
    return sum(1 for task in gang.tasks.values() if task.state is State.PENDING and not task.best_effort)
