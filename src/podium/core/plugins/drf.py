"""drf: dominant resource fairness between gangs, namespaces and branches of queues.

    share(gang) = max over resources of allocated / total

The gang with the smallest share goes first, and may preempt where it would still have the smaller share.

With enableNamespaceOrder the same holds between namespaces, each share divided by the namespace's weight.

With enableHierarchy queues are ordered by their places in a tree (see `fair_tree`), and a queue may reclaim from
one that stays ahead of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.framework.plugin import Placed, Plugin
from podium.core.framework.session import Session
from podium.core.framework.shares import Amounts, Ledger, dominant
from podium.core.model.model import Gang, Queue, Task
from podium.core.plugins.fair_tree import FairTree

_SAME = 1e-6

_ONLY_AS_A_TREE = frozenset({"queue_order", "reclaimable"})


class Drf(Plugin):
    name = "drf"
    PLAIN_ORDER = True  # of gangs that hold nothing all shares are equal
    ORDERS_TREE = True

    def has(self, hook: str) -> bool:
        return super().has(hook) and (self.hierarchy or hook not in _ONLY_AS_A_TREE)

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._ledger = Ledger(session)
        self._shares: dict[str, float] = {}
        self._by_namespace = session.asks("namespace_order", self)
        self._namespaces = {
            name: self._ledger.vector(allocated) for name, allocated in session.cluster.accounts.namespaces.items()
        }
        self._tree = FairTree(session, self._ledger) if self.hierarchy else None

    def on_allocate(self, placed: Placed) -> None:
        self._update(placed, 1)

    def on_deallocate(self, placed: Placed) -> None:
        self._update(placed, -1)

    def _update(self, placed: Placed, sign: int) -> None:
        gang = placed.gang
        self._ledger.add(placed, sign)
        self._shares.pop(gang.id, None)
        amount = self._ledger.of(placed.cls) * (sign * len(placed.tasks))
        self._namespaces[gang.namespace] = self._namespaces[gang.namespace] + amount
        if self._tree is not None:
            self._tree.move(gang, amount)

    # --- orders ------------------------------------------------------------------------------------------------

    def job_order(self, left: Gang, right: Gang) -> float:
        return self.job_key(left) - self.job_key(right)

    def job_key(self, gang: Gang) -> float:
        share = self._shares.get(gang.id)
        if share is None:
            share = self._shares[gang.id] = dominant(self._ledger.allocated(gang.id), self._ledger.total)
        return share

    def queue_order(self, left: Queue, right: Queue) -> float:
        return 0 if self._tree is None else self._tree.compare(left.id, right.id)

    def namespace_order(self, left: str, right: str) -> float:
        return self._weighted(left, self._namespaces[left]) - self._weighted(right, self._namespaces[right])

    def _weighted(self, namespace: str, allocated: Amounts) -> float:
        weight = max(1, self._session.cluster.namespace_weights.get(namespace, 1))
        return dominant(allocated, self._ledger.total) / weight

    def namespace_shares(self) -> dict[str, float]:
        """What each namespace held at the end of the turn, before weights: for metrics."""
        return {name: dominant(allocated, self._ledger.total) for name, allocated in self._namespaces.items()}

    # --- victims -----------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        ledger = self._ledger
        wanted = ledger.of(preemptor.cls)
        mine = dominant(ledger.allocated(preemptor.gang.id) + wanted, ledger.total)
        left: dict[str, Amounts] = {}
        namespaces = dict(self._namespaces)
        victims = []
        for task in candidates:
            given = ledger.of(task.cls)
            left[task.gang.id] = left.get(task.gang.id, ledger.allocated(task.gang.id)) - given
            difference = mine - dominant(left[task.gang.id], ledger.total)
            if self._by_namespace and task.gang.namespace != preemptor.gang.namespace:
                # Namespaces are compared first; gangs decide between namespaces that are equal.
                namespaces[task.gang.namespace] = namespaces[task.gang.namespace] - given
                ours = namespaces[preemptor.gang.namespace] + wanted
                ahead = self._weighted(preemptor.gang.namespace, ours) - self._weighted(
                    task.gang.namespace, namespaces[task.gang.namespace]
                )
                difference = ahead if abs(ahead) > _SAME else difference
            if difference <= _SAME:
                victims.append(task)
        return victims

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues that stay ahead of the reclaimer's when it has got its task and they lost theirs."""
        tree = self._tree
        assert tree is not None
        moved = [(reclaimer.gang, self._ledger.of(reclaimer.cls))]
        tree.move(*moved[0])
        victims = []
        for task in candidates:
            step = (task.gang, -self._ledger.of(task.cls))
            tree.move(*step)
            if tree.compare(reclaimer.gang.queue, task.gang.queue) < 0:
                moved.append(step)
                victims.append(task)
            else:
                tree.move(task.gang, -step[1])
        for gang, amount in moved:
            tree.move(gang, -amount)
        return victims
