"""What a turn has learnt about room: of a kind of tasks only so many find a place, so who needs more need not try.

While gangs get their places room only shrinks: what is tried in vain is given back, and what is kept is gone.  So
when a gang of equal tasks finds k places and no more, no later gang of the same kind finds more than k.  In a line
of a thousand equal jobs the first one that does not fit is the last one that is looked at.

So do the limits of a queue.  It does not hold for a task that wants to be near others, which may find a place
because of what was placed since; such kinds are always tried.
"""

from __future__ import annotations

from collections.abc import Hashable

from podium.core.framework.diagnosis import gang_refusal
from podium.core.framework.session import Session
from podium.core.model import quorum
from podium.core.model.model import Gang, State, Task
from podium.core.model.paths import BATCH
from podium.queue_reasons import QUEUE_LIMIT, QUEUE_OVERUSED
from podium.reasons import UNPLACEABLE, Refusal

_LASTING = (UNPLACEABLE, QUEUE_LIMIT, QUEUE_OVERUSED)


class UnschedulableCache:
    """By kind how many places there are, once somebody has not found enough."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._places: dict[Hashable, tuple[int, Refusal]] = {}

    def learn(self, gang: Gang, places: int, cause: Refusal) -> None:
        """A gang found so many places, with everything that others hold left to them, and not one more."""
        first = _only_kind(gang)
        if first is None or cause.reason not in _LASTING:
            return
        if self._session.candidates(first, refresh=False).path[0] == BATCH:
            self._places[self._key(first)] = (places, cause)

    def refusal(self, gang: Gang) -> Refusal | None:
        """Why a gang need not try; None when it may."""
        if not self._places:
            return None
        first = _only_kind(gang)
        if first is None:
            return None
        known = self._places.get(self._key(first))
        if known is None or known[0] >= quorum.to_place(gang):
            return None
        places, cause = known
        return gang_refusal(self._session, gang, gang.ready + places, cause)

    def _key(self, task: Task) -> Hashable:
        return task.gang.queue, self._session.signature(task)


def _only_kind(gang: Gang) -> Task | None:
    """A task that stands for all that wait, if they are alike and have no groups among them."""
    waiting = [task for task in gang.tasks.values() if task.state is State.PENDING and not task.gated]
    if not waiting or gang.policies or any(task.cls is not waiting[0].cls for task in waiting):
        return None
    return waiting[0]
