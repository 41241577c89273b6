"""Queues and pools as a tree of rows: what each should have, has, borrows and waits for.

Sums are by queue, and here go up the tree: what a queue below holds, the one above it holds as well.  What a
queue should have is the word of the plugin that shares the cluster out, if the profile has one, else of the
queue itself; a queue that owns nodes should have what these have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from podium.core.cluster.accounts import Account
from podium.core.cluster.cluster import Cluster
from podium.core.framework.plugin import Plugin
from podium.core.framework.shares import Sharing, Standing
from podium.core.model.model import Queue
from podium.web.amounts import Columns
from podium.web.job_rows import ENDED

# By resource (cpu, memory, gpu): [used, deserved or None, limit or None, guaranteed, waited for].
FIELDS = (
    "id", "name", "dialect", "parent", "weight", "open", "order", "jobs", "nodes", "cpu", "memory", "gpu",
)  # fmt: skip

SHOWN = 9  # the first of the three resources
DESERVED, WAITS = 1, 4

Row = list[Any]
_DEEP = 32  # a chain of parents that is longer is a circle


class QueueRows:
    """Makes the rows of all queues."""

    def __init__(self, cluster: Cluster, columns: Columns) -> None:
        self._cluster = cluster
        self._columns = columns

    def rows(
        self,
        plugins: Iterable[Plugin],
        jobs: Mapping[tuple[str, str], int],
        without_pods: Mapping[str, tuple[float, float]],
    ) -> list[Row]:
        """`plugins` are those of the last turn; `jobs` counts jobs by queue and state; `without_pods` are the
        accelerators and cores that jobs wait for whose pods are made when they are let in."""
        queues = self._cluster.queues
        sharing = [plugin for plugin in plugins if isinstance(plugin, Sharing)]
        held: dict[str, Counter[int]] = {id: Counter() for id in queues}
        waits: dict[str, Counter[int]] = {id: Counter() for id in queues}
        states: dict[str, Counter[str]] = {id: Counter() for id in queues}
        for (id, state), count in jobs.items():
            for above in self._line(id):
                states[above][state] += count
        for id, account in list(self._cluster.accounts.queues.items()):
            for above in self._line(id):
                _add(held[above], account, "allocated")
                _add(waits[above], account, "waiting")
        unborn: dict[str, list[float]] = {id: [0.0, 0.0] for id in queues}
        for id, (gpus, cores) in without_pods.items():
            for above in self._line(id):
                unborn[above][0] += gpus
                unborn[above][1] += cores
        owned = self._owned()
        found = []
        for id, queue in queues.items():
            if not id and not any(held[id].values()) and not states[id].keys() - set(ENDED):
                continue  # that of pods without a queue, and there are none
            standing = _standing(queue, sharing)
            cpu, memory, gpu = (
                self._resource(queue, standing, held[id], waits[id], name) for name in ("cpu", "memory", "gpu")
            )
            if id in owned:
                own = self._columns.shown(self._offered(owned[id]))
                cpu[DESERVED], memory[DESERVED], gpu[DESERVED] = own["cpu"], own["memory"], own["gpu"]
            gpu[WAITS] = round((gpu[WAITS] or 0) + unborn[id][0], 3)
            cpu[WAITS] = round((cpu[WAITS] or 0) + unborn[id][1], 3)
            parent = queue.parent if queue.parent in queues else ""
            found.append([
                id, queue.name or "no queue", queue.dialect, parent, queue.weight, queue.open,
                queue.priority, dict(states[id]), len(owned.get(id, ())), cpu, memory, gpu,
            ])  # fmt: skip
        self._raise_shares(found)
        return found

    def _raise_shares(self, rows: list[Row]) -> None:
        """The share of a queue with others below it is at least theirs: not every plugin knows of trees."""
        by_id = {row[0]: row for row in rows}
        for place in range(SHOWN, SHOWN + 3):
            sums: dict[str, float] = {}
            for row in rows:
                for above in self._line(row[0])[1:]:
                    sums[above] = sums.get(above, 0.0) + (row[place][DESERVED] or 0.0)
            for id, total in sums.items():
                mine = by_id[id][place] if id in by_id else None
                if mine is not None and total:
                    mine[DESERVED] = max(mine[DESERVED] or 0.0, round(total, 3))

    def _line(self, id: str) -> list[str]:
        """A queue and those above it."""
        found: list[str] = []
        queue = self._cluster.queues.get(id)
        while queue is not None and queue.id not in found and len(found) < _DEEP:
            found.append(queue.id)
            queue = self._cluster.queues.get(queue.parent) if queue.parent else None
        return found

    def _owned(self) -> dict[str, list[int]]:
        """The rows of the nodes that belong to each queue."""
        found: dict[str, list[int]] = {}
        for row, facts in enumerate(self._cluster.nodes.facts):
            if facts is not None and facts.queue:
                found.setdefault(facts.queue, []).append(row)
        return found

    def _offered(self, rows: list[int]) -> dict[int, float]:
        """What some nodes have: the share of the queue that owns them."""
        return dict(enumerate(self._cluster.nodes.allocatable[rows].sum(axis=0).tolist()))

    def _resource(
        self, queue: Queue, standing: Standing | None, held: Counter[int], waits: Counter[int], name: str
    ) -> list[float | None]:
        shown, by_name = self._columns.shown, self._columns.by_name
        deserved = limit = None
        if standing is not None:
            deserved = self._finite(standing.deserved.tolist(), name)
            limit = self._finite(standing.limit.tolist(), name)
        if not deserved:
            deserved = None  # nobody has said what it should have, or it asks for nothing
        if deserved is None and queue.deserved:
            deserved = shown(by_name(queue.deserved))[name] or None
        if limit is None and queue.capability:
            limit = shown(by_name(queue.capability))[name] or None
        guaranteed = shown(by_name(queue.guarantee))[name] if queue.guarantee else 0
        return [shown(held)[name], deserved, limit, guaranteed, shown(waits)[name]]

    def _finite(self, amounts: list[float], name: str) -> float | None:
        """None where there is no bound."""
        columns = {0} if name == "cpu" else {1} if name == "memory" else set(self._columns.accelerators)
        mine = {column: amounts[column] for column in columns if column < len(amounts)}
        if not mine or any(amount == float("inf") for amount in mine.values()):
            return None
        return self._columns.shown(mine)[name]


def _add(sums: Counter[int], account: Account, part: str) -> None:
    for column, amount in getattr(account, part).items():
        sums[column] += amount


def _standing(queue: Queue, plugins: Iterable[Sharing]) -> Standing | None:
    found = None
    for plugin in plugins:
        try:
            found = plugin.standing(queue)
        except KeyError:
            continue  # it was not there in the last turn, or is another dialect's
    return found
