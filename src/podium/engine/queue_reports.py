"""How queues stand: what their tasks hold and wait for, and what the nodes that they own have and who uses it.

Sums over all tasks would be counted anew every second for the sake of a table.  So each row's part is kept, and
counted again when the row has changed, or what the tasks on it belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.accounts import Account, Sums
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.ownership import Ownership
from podium.core.model.model import ON_NODE, Gang, State
from podium.core.profiles.profile import Profile
from podium.dialects.queue_report import QueueReport


class _Row(msgspec.Struct):
    """What is on a row: of tasks that name its owner, of other schedulers' tasks, and of those that are both."""

    version: int
    own: Sums
    system: Sums
    strange: Sums
    pods: int


class QueueReports:
    """The reports of all queues of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._minding: frozenset[str] = frozenset()
        self._rows: dict[int, _Row] = {}
        self._version = -1  # of the nodes, when the rows were counted

    def serve(self, profiles: Mapping[str, Profile]) -> None:
        """The profiles that there are: tasks that none of those has placed which mind owners are the system's."""
        self._minding = frozenset(
            name
            for name, profile in profiles.items()
            if any(entry.kind.KEEPS_TO_OWNERS for tier in profile.tiers for entry in tier)
        )
        self._rows.clear()

    def minds(self, gang: Gang) -> bool:
        """Whether it is of a scheduler for which owners of nodes count: others are in no queue of theirs."""
        return not self._minding or gang.profile in self._minding

    def all(self, now: float = 0.0) -> dict[str, QueueReport]:
        """By queue."""
        return self.of(self._cluster.queues, now)

    def of(self, queues: Iterable[str], now: float) -> dict[str, QueueReport]:
        """Those of some queues: one without an object may own every node, and nobody reads how it stands."""
        cluster, nodes = self._cluster, self._cluster.nodes
        cluster.settle()
        nodes.widen()
        if nodes.version != self._version:  # nodes may have changed hands
            self._version = nodes.version
            self._rows.clear()
        ownership = Ownership(cluster.queues, nodes.properties)
        return {id: self._report(id, ownership, now) for id in queues if id in cluster.queues}

    def _report(self, queue: str, ownership: Ownership, now: float) -> QueueReport:
        cluster, nodes = self._cluster, self._cluster.nodes
        account = cluster.accounts.queues.get(queue) or Account()
        held, pending = self._named(account.allocated), self._named(self._waiting(queue, account, ownership))
        placed = self._placed(queue, account, ownership)
        rows = [row for row in np.flatnonzero(ownership.owned(queue)).tolist() if nodes.facts[row] is not None]
        if not rows:
            return QueueReport(held, pending, borrowed=self._named(placed), at=now)
        own: Sums = {}
        system: Sums = {}
        strange: Sums = {}
        pods = 0
        for row in rows:
            found = self._row(row, queue)
            pods += found.pods
            for sums, amounts in ((own, found.own), (system, found.system), (strange, found.strange)):
                for column, amount in amounts.items():
                    sums[column] = sums.get(column, 0) + amount
        used = self._sum(nodes.used, rows)
        return QueueReport(
            held=held,
            pending=pending,
            nodes=tuple(sorted(nodes.name(row) for row in rows)),
            capacity=self._named(self._sum(nodes.capacity, rows)),
            allocatable=self._named(self._sum(nodes.allocatable, rows)),
            used=self._named(used),
            shared=self._named(
                {column: amount - own.get(column, 0) + strange.get(column, 0) for column, amount in used.items()}
            ),
            system=self._named(system),
            borrowed=self._named(
                {column: amount - own.get(column, 0) + strange.get(column, 0) for column, amount in placed.items()}
            ),
            pods=pods,
            at=now,
        )

    def _placed(self, queue: str, account: Account, ownership: Ownership) -> Sums:
        """What tasks of a queue that owns nodes hold, wherever they are, if their schedulers mind it."""
        if not ownership.owns(queue):
            return {}
        if not self._minding:
            return account.allocated
        placed: Sums = {}
        for profile in self._minding:
            for column, amount in self._cluster.accounts.profiles.get((queue, profile), {}).items():
                placed[column] = placed.get(column, 0) + amount
        return placed

    def _waiting(self, queue: str, account: Account, ownership: Ownership) -> Sums:
        """What waits for a place; of a queue that owns nodes, for schedulers that mind it: others never ask."""
        if not self._minding or not ownership.owns(queue):
            return account.waiting
        waiting = dict(account.waiting)
        for gang in self._cluster.accounts.active_in.get(queue, {}).values():
            if self.minds(gang):
                continue
            for task in gang.tasks.values():
                for column, amount in task.cls.request.pairs if task.state is State.PENDING else ():
                    waiting[column] -= amount
        return waiting

    def _row(self, row: int, queue: str) -> _Row:
        version = int(self._cluster.nodes.row_versions[row])
        found = self._rows.get(row)
        if found is None or found.version != version:
            own: Sums = {}
            system: Sums = {}
            strange: Sums = {}
            pods = 0
            for task in self._cluster.on_row.get(row, {}).values():
                if task.state not in ON_NODE:
                    continue
                pods += 1
                foreign = not self.minds(task.gang)
                named = task.gang.queue == queue and task.gang.id in self._cluster.gangs
                for sums, counts in ((own, named), (system, foreign), (strange, named and foreign)):
                    for column, amount in task.cls.request.pairs if counts else ():
                        sums[column] = sums.get(column, 0) + amount
            found = self._rows[row] = _Row(version, own, system, strange, pods)
        return found

    @staticmethod
    def _sum(table: NDArray[np.int64], rows: list[int]) -> Sums:
        return {column: amount for column, amount in enumerate(table[rows].sum(axis=0).tolist()) if amount}

    def _named(self, sums: Mapping[int, int]) -> dict[str, int]:
        names = self._cluster.dimensions.names
        return {names[column]: amount for column, amount in sums.items() if amount > 0}
