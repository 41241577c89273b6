"""Ways to choose a node by the free devices alone: the rivals of `fgd` in its paper, as the paper has them.

    dotprod        where the product of what is free and what is asked is smallest
    bestfit        where least is left
    gpupacking     shared devices first, then a free device of a used node, then a fresh node with few devices
    gpuclustering  tasks of the same size together

Amounts are scaled by the largest node.  Scores are cut to whole numbers; the rest is left to the order of names.
"""

from __future__ import annotations

import numpy as np

from podium.core.cluster.devices import Index, tenancy
from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.constraints import WHOLE
from podium.core.model.model import TaskClass
from podium.core.model.resources import CPU
from podium.core.placement.rows import Rows


class _ByDevices(Plugin):
    """What the scorers have in common."""

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number(f"{self.name}.weight")
        self._most_cpu = self._most_devices = 1

    def on_session_open(self, session: Session) -> None:
        nodes = session.cluster.nodes
        self._most_cpu = max(1, int(nodes.allocatable[: nodes.count, CPU].max(initial=0)))
        self._most_devices = max(1, nodes.devices.largest) * WHOLE

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        return self._weight * self._score(cls, rows)

    def _score(self, cls: TaskClass, rows: Rows) -> Scores:
        raise NotImplementedError


def _weight_of(name: str) -> Argument:
    return Argument(f"{name}.weight", 1, "how much the score counts beside those of other plugins")


def _asked(cls: TaskClass) -> int:
    wanted = cls.constraints.devices
    return 0 if wanted is None else wanted.count * wanted.share


class DotProduct(_ByDevices):
    name = "dotprod"
    ARGUMENTS = (_weight_of(name),)

    def _score(self, cls: TaskClass, rows: Rows) -> Scores:
        idle = rows.allocatable(CPU) - rows.used(CPU)
        cpu = idle / self._most_cpu * (cls.request.amount(CPU) / self._most_cpu)
        devices = rows.devices().sum(axis=0) / self._most_devices * (_asked(cls) / self._most_devices)
        score: Scores = np.trunc(MAX_NODE_SCORE * (1 - (cpu + devices) / 2))
        return score


class BestFit(_ByDevices):
    name = "bestfit"
    ARGUMENTS = (_weight_of(name),)

    def _score(self, cls: TaskClass, rows: Rows) -> Scores:
        cpu = (rows.allocatable(CPU) - rows.filled(CPU)) / self._most_cpu
        devices = (rows.devices().sum(axis=0) - _asked(cls)) / self._most_devices
        score: Scores = np.trunc(MAX_NODE_SCORE * (1 - (cpu * 0.5 + devices * 0.5)))
        return score


class GpuPacking(_ByDevices):
    name = "gpupacking"
    ARGUMENTS = (_weight_of(name),)

    def _score(self, cls: TaskClass, rows: Rows) -> Scores:
        wanted = cls.constraints.devices
        if wanted is None:
            return np.zeros(len(rows.index))
        free, counts = rows.devices(), rows.device_counts()
        # The devices that the task would get if it always took the fullest that will do.
        order = np.sort(np.where(free >= wanted.share, free, 2 * WHOLE), axis=0)[: wanted.count]
        fresh = np.count_nonzero(order == WHOLE, axis=0)
        left: Index = (order // 10).sum(axis=0) // 10
        packed = np.where(fresh > 0, np.maximum(50 - fresh, 33), np.maximum(100 - left, 50))
        untouched = free.sum(axis=0) == counts * WHOLE
        return np.where(untouched, np.maximum(33 - counts, counts), packed).astype(np.float64)


class GpuClustering(_ByDevices):
    name = "gpuclustering"
    ARGUMENTS = (_weight_of(name),)

    def _score(self, cls: TaskClass, rows: Rows) -> Scores:
        wanted = cls.constraints.devices
        if wanted is None:
            return np.zeros(len(rows.index))
        used = self._most_devices - rows.devices().sum(axis=0)
        fullness = 25 * used // self._most_devices
        present = rows.tenants() > 0
        own = present[tenancy(wanted)]
        others = np.count_nonzero(present, axis=0) > own
        liking = np.select([own & ~others, own & others, ~own & others], [75, 50, 0], 25)
        score: Scores = (liking + fullness).astype(np.float64)
        return score
