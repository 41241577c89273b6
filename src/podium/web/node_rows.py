"""Nodes as rows: what each has, and which jobs sit on its accelerators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.core.cluster.cluster import Cluster
from podium.core.model.model import ON_NODE, State, Task
from podium.core.model.resources import CPU, MEMORY
from podium.web.amounts import Columns

# `held` is a list of [job, accelerators]; `state` is ready, cordoned or down; shares are per cent.
FIELDS = ("id", "name", "state", "gpus", "held", "pods", "cpu", "memory", "model", "queue")
ID, HELD = 0, 4

_MOST_HELD = 64  # jobs named on one node

Row = list[Any]


class NodeRows:
    """Makes rows of nodes."""

    def __init__(self, cluster: Cluster, columns: Columns, job_of: Callable[[str], int]) -> None:
        self._cluster = cluster
        self._columns = columns
        self._job_of = job_of

    def row(self, number: int) -> Row | None:
        """None where there is no node any more."""
        nodes = self._cluster.nodes
        facts = nodes.facts[number]
        if facts is None:
            return None
        accelerators = self._columns.accelerators
        has = sum(float(nodes.allocatable[number, column]) * unit for column, unit in accelerators.items())
        tasks = self._cluster.on_row.get(number, {})
        state = "ready" if facts.ready and not facts.unschedulable else "cordoned" if facts.ready else "down"
        return [
            number, facts.name, state, round(has, 3), self._held(tasks) if has else self._jobs(tasks),
            len(tasks), self._share(number, CPU), self._share(number, MEMORY),
            facts.device_model or facts.labels.get("nvidia.com/gpu.product", ""), facts.queue,
        ]  # fmt: skip

    def _share(self, number: int, column: int) -> int:
        whole = int(self._cluster.nodes.allocatable[number, column])
        return round(100 * int(self._cluster.nodes.used[number, column]) / whole) if whole else 0

    def _held(self, tasks: dict[str, Task]) -> list[list[float]]:
        """Who has how many of a node's accelerators, in the order in which they came."""
        accelerators = self._columns.accelerators
        held: dict[int, float] = {}
        for task in tasks.values():
            if task.state is State.PIPELINED:
                continue  # a promise: others still sit there
            amount = 0.0
            for column, asked in task.cls.request.pairs:
                unit = accelerators.get(column)
                if unit is not None:
                    amount += asked * unit
            if amount:
                job = self._job_of(task.gang.id)
                held[job] = held.get(job, 0.0) + amount
        return [[job, round(amount, 3)] for job, amount in held.items()][:_MOST_HELD]

    def _jobs(self, tasks: dict[str, Task]) -> list[list[float]]:
        """Who is on a node without accelerators; the largest first."""
        cores: dict[int, int] = {}
        for task in tasks.values():
            if task.state in ON_NODE:
                job = self._job_of(task.gang.id)
                cores[job] = cores.get(job, 0) + task.cls.request.amount(CPU)
        largest = sorted(cores, key=lambda job: -cores[job])[:_MOST_HELD]
        return [[job, 0] for job in largest]
