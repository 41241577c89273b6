"""capacity: each queue has a guarantee, a deserved share and a limit of its own, flat or as a tree.

A queue may use more than it deserves as long as nobody else needs it; what is beyond comes back by reclaim, down
to what the queue is guaranteed.  Nothing lets it go above its limit, nor above the limit of any queue above it.

With enableHierarchy the parents of queues make a tree: only leaves have jobs, a queue's order among others is that
of the branches where they part, and victims are looked for among the closest relatives first.

arguments
    ancestorReclaimLevel    how many levels above a queue have a say in reclaim: an ancestor below its deserved
                            share lets a queue reclaim, and one that is not above its own protects its tasks (0)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.core.framework.plugin import Argument, Arguments, Placed, Plugin, Vote
from podium.core.framework.session import Session
from podium.core.framework.shares import (
    TOLERANCE,
    Admissions,
    Amounts,
    Ledger,
    Standing,
    binding,
    capability_of,
    how_many,
    over,
    over_limit,
)
from podium.core.model.model import Gang, Queue, Task, TaskClass
from podium.core.model.resources import PODS
from podium.core.plugins.queue_tree import QueueTree
from podium.core.plugins.quotas import flat_quotas, tree_quotas
from podium.queue_reasons import NOT_LEAF, QUEUE_CLOSED
from podium.reasons import Refusal, refuse

_NO_DRA = "pods with resourceClaims are refused: devices are asked for by resource name"


class Capacity(Plugin):
    name = "capacity"
    ARGUMENTS = (
        Argument("ancestorReclaimLevel", 0, "how many levels above a queue have a say in reclaim"),
        Argument("capacity.DynamicResourceAllocationEnable", False, "limits on classes of devices", _NO_DRA),
        Argument("capacity.DRAConsumableCapacityEnable", False, "limits on parts of devices", _NO_DRA),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._levels = max(0, arguments.integer("ancestorReclaimLevel")) if hierarchy else 0

    def has(self, hook: str) -> bool:
        # In a tree what others hold moves a queue as well.
        return super().has(hook) and not (self.hierarchy and hook == "queue_key")

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._names = session.cluster.dimensions.names
        self._tree = QueueTree(session.queues) if self.hierarchy else None
        self._quotas = tree_quotas(session, self._tree) if self._tree is not None else flat_quotas(session)
        self._limits = {id: quota.limit for id, quota in self._quotas.items()}
        self._ledger = Ledger(session, self._tree.to_root if self._tree is not None else None)
        self._admissions = Admissions(session, self._ledger)

    def on_allocate(self, placed: Placed) -> None:
        self._ledger.add(placed, 1)

    def on_deallocate(self, placed: Placed) -> None:
        self._ledger.add(placed, -1)

    # --- who may come in ---------------------------------------------------------------------------------------

    def job_valid(self, gang: Gang) -> Refusal | None:
        return self._no_leaf(self._session.queues[gang.queue])

    def job_enqueueable(self, gang: Gang) -> Vote:
        queue = self._session.queues[gang.queue]
        if not queue.open or self._no_leaf(queue) is not None:
            return Vote.REJECT
        return Vote.PERMIT if self._admissions.fits(gang, self._limits) else Vote.REJECT

    def admission_refusal(self, gang: Gang) -> Refusal | None:
        queue = self._session.queues[gang.queue]
        queues = self._tree.queues if self._tree is not None else self._session.queues
        return self._closed(queue) or self._admissions.refusal(gang, self._limits, queues)

    def job_enqueued(self, gang: Gang) -> None:
        self._admissions.admit(gang)

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        closed = self._closed(queue)
        if closed is not None:
            return closed
        request = task.cls.request
        for id in self._ledger.ancestors[queue.id]:
            allocated, limit = self._ledger.queues[id], self._limits[id]
            column = over(request, allocated, limit)
            if column is not None:
                most, whole = float(limit[column]), float(self._ledger.total[column])
                kind = binding(most, float(capability_of(self._session, self._queue(id))[column]), whole)
                need, holds = request.amount(column), float(allocated[column])
                return over_limit(self._queue(id), self._names[column], need, holds, most, kind)
        return None

    def headroom(self, queue: Queue, cls: TaskClass, count: int) -> int:
        if self._closed(queue) is not None:
            return 0
        for id in self._ledger.ancestors[queue.id]:
            count = how_many(cls.request, self._ledger.queues[id], self._limits[id], count)
        return count

    def _closed(self, queue: Queue) -> Refusal | None:
        return self._no_leaf(queue) if queue.open else refuse(QUEUE_CLOSED, queue=queue.name or queue.id)

    def _no_leaf(self, queue: Queue) -> Refusal | None:
        if self._tree is None or self._tree.leaf(queue.id):
            return None
        return refuse(NOT_LEAF, queue=queue.name or queue.id)

    def _queue(self, id: str) -> Queue:
        return self._tree.queues[id] if self._tree is not None else self._session.queues[id]

    # --- who is next -------------------------------------------------------------------------------------------

    def queue_order(self, left: Queue, right: Queue) -> float:
        if left.priority != right.priority:
            return right.priority - left.priority
        if self._tree is None:
            return self._compare(left.id, right.id)
        if self._tree.leaf(left.id) != self._tree.leaf(right.id):
            return -1 if self._tree.leaf(left.id) else 1
        return self._compare(*self._tree.parting(left.id, right.id))

    def queue_key(self, queue: Queue) -> tuple[float, ...]:
        quota = self._quotas[queue.id]
        return -queue.priority, self._ledger.share(queue.id, quota.share), -quota.deserves

    def _compare(self, left: str, right: str) -> float:
        """By share; among equals a queue that deserves something goes before one that lives on what is left."""
        one, other = self._quotas[left], self._quotas[right]
        difference = self._ledger.share(left, one.share) - self._ledger.share(right, other.share)
        return difference or (other.deserves - one.deserves)

    def standing(self, queue: Queue) -> Standing:
        """How a queue stood at the end of the turn."""
        quota = self._quotas[queue.id]
        share = self._ledger.share(queue.id, quota.share)
        return Standing(self._ledger.queues[queue.id], quota.deserved, quota.limit, share, share > 1)

    def victim_queue_order(self, left: Queue, right: Queue, preemptor: Queue) -> float:
        if self._tree is None:
            return 0
        return self._tree.kinship(right.id, preemptor.id) - self._tree.kinship(left.id, preemptor.id)

    # --- who takes from whom -----------------------------------------------------------------------------------

    def preemptive(self, queue: Queue, task: Task) -> bool:
        """A queue within its limit that is below its deserved share, or has an ancestor that is, in something."""
        if self._closed(queue) is not None:
            return False
        if over(task.cls.request, self._ledger.queues[queue.id], self._limits[queue.id]) is not None:
            return False
        return any(self._below_share(id, task) for id in (queue.id, *self._ancestors(queue.id)))

    def _below_share(self, id: str, task: Task) -> bool:
        allocated, deserved = self._ledger.queues[id], self._quotas[id].deserved
        return any(
            allocated[column] + amount <= deserved[column] + TOLERANCE
            for column, amount in task.cls.request.pairs
            if column != PODS and column < self._ledger.width
        )

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """What queues hold beyond their shares, as long as they do, of what the reclaimer needs as well."""
        left: dict[str, Amounts] = {}
        needs = self._asked(reclaimer)
        needs[PODS] = False
        victims = []
        for task in candidates:
            taken = self._ledger.of(task.cls)
            if not np.any(needs & (taken > 0)):
                continue
            mine = self._ancestors(reclaimer.gang.queue)
            others = [id for id in self._ancestors(task.gang.queue) if id not in mine]
            if self._nothing_by_right(reclaimer, task):
                continue
            line = [task.gang.queue, *others]
            if all(self._spares(id, left.get(id, self._ledger.queues[id]), taken) for id in line):
                for id in line:
                    left[id] = left.get(id, self._ledger.queues[id]) - taken
                victims.append(task)
        return victims

    def _spares(self, id: str, allocated: Amounts, taken: Amounts) -> bool:
        """Whether a queue that holds so much can be without a task."""
        quota = self._quotas[id]
        if np.any(quota.guarantee > allocated - taken + TOLERANCE):
            return False
        asked = taken > 0
        if not np.any(asked & (quota.deserved > 0)):
            return True  # nothing of what the task holds is the queue's by right
        asked &= quota.named
        asked[PODS] = False
        return bool(np.any(allocated[asked] > quota.deserved[asked] + TOLERANCE))

    def _nothing_by_right(self, reclaimer: Task, victim: Task) -> bool:
        """Relatives of whom neither deserves anything of what it is about: there is nothing to give back.

        The ancestor that both have in common within reach is what lets the one reclaim, and it has already spent
        its share on the other.
        """
        mine, theirs = reclaimer.gang.queue, victim.gang.queue
        if not set(self._ancestors(mine)) & set(self._ancestors(theirs)):
            return False
        return not self._deserves_of(mine, reclaimer) and not self._deserves_of(theirs, victim)

    def _deserves_of(self, id: str, task: Task) -> bool:
        return bool(np.any(self._asked(task) & (self._quotas[id].deserved > 0)))

    def _asked(self, task: Task) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        asked: np.ndarray[tuple[int], np.dtype[np.bool_]] = self._ledger.of(task.cls) > 0
        return asked

    def _ancestors(self, id: str) -> tuple[str, ...]:
        """What is above a queue, below the root, and within reach of reclaim."""
        return self._tree.ancestors(id)[: self._levels] if self._tree is not None else ()
