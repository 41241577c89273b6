"""giveup: when it is no use to wait any longer.

A job is given up when so many of its tasks fit on no node, were all nodes empty, that it can never start; and,
with an argument, when it has waited for so long.  Then it may also wait as long for a node that could take it: it
is told that none can, and is given up at the same time.

Nodes that are not ready, cordoned, or tainted by Kubernetes itself may come back: a task that is not too large for
one of them may fit.  And while no node is ready nobody is given up.

Since when a job waits, its dialect knows (the gang's attribute `waitingSince`, in seconds).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.core.framework.plugin import Argument, Arguments, Plugin
from podium.core.framework.session import Session
from podium.core.model import quorum
from podium.core.model.attributes import WAITING_SINCE
from podium.core.model.durations import duration
from podium.core.model.model import Gang, State, Task, TaskClass
from podium.reasons import FAILED, GIVEN_UP, NEVER_FITS, Refusal, refuse

NEVER = "none"
_KUBERNETES = "node.kubernetes.io/"  # taints that say how a node is doing


class GiveUp(Plugin):
    name = "giveup"
    ARGUMENTS = (
        Argument(
            "giveup.after", NEVER, f"how long a job may wait for its places; {NEVER}: as long as one may come"
        ),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._after = duration(arguments.text("giveup.after"))

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._nodes = session.cluster.nodes
        self._away: NDArray[np.bool_] | None = None
        self._fitting: dict[TaskClass, bool] = {}

    def job_refused(self, gang: Gang, refusal: Refusal) -> Refusal | None:
        session = self._session
        if refusal.reason is FAILED or quorum.started(gang) or quorum.lacking(gang) is not None:
            return None
        if not np.any(self._nodes.live[: self._nodes.count]):
            return None
        never = self._never(gang)
        if self._after is None:
            return refuse(GIVEN_UP, refusal) if never else None
        since = _since(gang, session.now)
        if session.now >= since + self._after:
            return refuse(GIVEN_UP, refusal)
        session.look_again(gang, since + self._after)
        return refuse(NEVER_FITS, refusal) if never else None

    def _never(self, gang: Gang) -> bool:
        """Whether the tasks that could find a place at all are too few."""
        waiting = [task for task in gang.tasks.values() if task.state is State.PENDING]
        possible = [task for task in waiting if task.gated or task.best_effort or self._may_fit(task)]
        # Those that ask for no room count as placed already.
        roomy = [task for task in possible if not task.best_effort or task.gated]
        return quorum.missing(gang, also=roomy) > 0 or self._session.shortfall(gang) > len(possible)

    def _may_fit(self, task: Task) -> bool:
        found = self._fitting.get(task.cls)
        if found is None:
            found = self._fitting[task.cls] = self._fits_somewhere(task)
        return found

    def _fits_somewhere(self, task: Task) -> bool:
        candidates = self._session.candidates(task, refresh=False)
        if candidates.refusal is not None:
            return True  # no matter of nodes: a claim may still be made
        allocatable = self._nodes.allocatable[: self._nodes.count, task.cls.columns]
        large = (allocatable >= task.cls.amounts).all(axis=1)
        return bool(np.any(large & (candidates.static | self._may_come_back())))

    def _may_come_back(self) -> NDArray[np.bool_]:
        """Nodes that take nothing now, for a reason that may pass."""
        if self._away is None:
            self._away = np.zeros(self._nodes.count, dtype=bool)
            for row in self._nodes.rows.values():
                facts = self._nodes.facts[row]
                assert facts is not None
                tainted = any(taint.key.startswith(_KUBERNETES) for taint in facts.taints)
                self._away[row] = not facts.ready or facts.unschedulable or tainted
        return self._away


def _since(gang: Gang, now: float) -> float:
    try:
        return min(now, float(gang.attributes.get(WAITING_SINCE, now)))
    except ValueError:
        return now
