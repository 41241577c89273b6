"""queuepolicy: each job says by which policy it stands in line (the gang's attribute `queuePolicy`).

    Priority    the larger priority first
    DRF         the smaller dominant share first: max over resources of what the job asks for / the cluster

Two policies cannot be compared job by job without going round in circles, so jobs with Priority (and those that
say nothing) go before those with DRF, each in its own order; among equals the older one.  An argument makes one
policy hold for all.

A share is of what all tasks of the job ask for, or, by argument, of what it holds.  A resource that the cluster
has none of is left out.  Large jobs would wait for ever while small ones keep coming: a job that has waited for
long stands in line as if it asked for nothing.
"""

from __future__ import annotations

from podium.core.framework.plugin import Argument, Arguments, Plugin
from podium.core.framework.session import Session
from podium.core.model.attributes import QUEUE_POLICY
from podium.core.model.durations import duration
from podium.core.model.model import FINISHED, HOLDING, Gang, TaskClass
from podium.core.model.resources import PODS

PRIORITY, DRF = "Priority", "DRF"
PER_JOB = "perJob"
DEMAND, ALLOCATED = "demand", "allocated"

# Further forward than any share; priorities are whole numbers of at most 32 bits, which stay exact beside it.
_AHEAD = 2.0**40


class QueuePolicy(Plugin):
    name = "queuepolicy"
    ARGUMENTS = (
        Argument("queuepolicy.policy", PER_JOB, f"{PRIORITY} or {DRF} for all jobs; {PER_JOB}: as each says"),
        Argument("queuepolicy.drfBase", DEMAND, f"what shares are of: {DEMAND}, or {ALLOCATED}"),
        Argument("queuepolicy.ageing", "10m", "after so long in line a job's share counts as none"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._policy = arguments.text("queuepolicy.policy")
        self._held = arguments.text("queuepolicy.drfBase") == ALLOCATED
        ageing = duration(arguments.text("queuepolicy.ageing"))
        self._ageing = ageing if ageing is not None else float("inf")

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._shares: dict[str, float] = {}

    def job_order(self, left: Gang, right: Gang) -> float:
        return self.job_key(left) - self.job_key(right)

    def job_key(self, gang: Gang) -> float:
        policy = gang.attributes.get(QUEUE_POLICY, PRIORITY) if self._policy == PER_JOB else self._policy
        if policy != DRF:
            return -_AHEAD - gang.priority
        if self._session.now - gang.created >= self._ageing:
            return 0.0
        return self.share(gang)

    def share(self, gang: Gang) -> float:
        """The largest part of anything in the cluster that a job asks for, or holds."""
        if self._held:
            return self._share(gang)  # moves with every place that it gets
        found = self._shares.get(gang.id)
        if found is None:
            found = self._shares[gang.id] = self._share(gang)
        return found

    def _share(self, gang: Gang) -> float:
        counts: dict[TaskClass, int] = {}
        for task in gang.tasks.values():
            if task.state in HOLDING if self._held else task.state not in FINISHED:
                counts[task.cls] = counts.get(task.cls, 0) + 1
        sums: dict[int, int] = {}
        for cls, count in counts.items():
            for column, amount in cls.request.pairs:
                sums[column] = sums.get(column, 0) + amount * count
        total = self._session.total
        parts = (
            amount / float(total[column])
            for column, amount in sums.items()
            if column != PODS and column < len(total) and total[column] > 0
        )
        return max(parts, default=0.0)
