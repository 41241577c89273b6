"""nodeorder: the scores that kube-scheduler's users know, each 0 to 100 times its weight.

properties (grade 1)       nodeaffinity, imagelocality
a row's filling (grade 2)  leastrequested, mostrequested, balancedresource
all nodes (grade 3)        podaffinity, podtopologyspread, tainttoleration: their scores are relative to the
                           best and the worst of the possible nodes, so each applies only to tasks for which
                           nodes can differ in it
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.properties import TaintSet
from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.labels import tolerates
from podium.core.model.model import Task, TaskClass
from podium.core.model.resources import CPU, MEMORY
from podium.core.placement import affinity, spread
from podium.core.placement.rows import Rows
from podium.core.plugins.predicates import eligible

_BALANCED = ("cpu", "memory", "nvidia.com/gpu")
_SMALL_IMAGES, _LARGE_IMAGE = 23 << 20, 1000 << 20  # below the one locality is no help, above the other no more


class NodeOrder(Plugin):
    name = "nodeorder"
    ARGUMENTS = (
        Argument("leastrequested.weight", 1, "how much an empty node counts"),
        Argument("mostrequested.weight", 0, "how much a full node counts"),
        Argument("nodeaffinity.weight", 2, "how much preferred node affinity counts"),
        Argument("podaffinity.weight", 2, "how much preferred pod affinity and anti-affinity count"),
        Argument("balancedresource.weight", 1, "how much equal use of a node's resources counts"),
        Argument("tainttoleration.weight", 3, "how much the absence of PreferNoSchedule taints counts"),
        Argument("imagelocality.weight", 1, "how much images that are there already count"),
        Argument("podtopologyspread.weight", 2, "how much soft spread constraints count"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._least = arguments.number("leastrequested.weight")
        self._most = arguments.number("mostrequested.weight")
        self._balanced = arguments.number("balancedresource.weight")
        self._affinity = arguments.number("nodeaffinity.weight")
        self._peer_affinity = arguments.number("podaffinity.weight")
        self._taints = arguments.number("tainttoleration.weight")
        self._images = arguments.number("imagelocality.weight")
        self._spread = arguments.number("podtopologyspread.weight")
        self._columns: list[int] = []

    def on_session_open(self, session: Session) -> None:
        dimensions = session.cluster.dimensions
        self._columns = [column for name in _BALANCED if (column := dimensions.find(name)) is not None]
        self._nodes = session.cluster.nodes
        self._peers = session.cluster.peers
        self._properties = session.cluster.nodes.properties

    def applies(self, hook: str, task: Task) -> bool:
        wanted = task.cls.constraints
        match hook:
            case "score":
                known = self._properties.images
                return bool(
                    (self._affinity and wanted.preferred)
                    or (self._images and any(known.get(image) for image in wanted.images))
                )
            case "score_rows":
                return bool(self._least or self._most or self._balanced)
            case "batch_node_order":
                return self._prefers_peers(task) or self._prefers_even(task) or self._avoids_taints(task)
        return True

    # --- properties --------------------------------------------------------------------------------------------

    def score(self, task: Task, session: Session) -> Scores:
        properties, wanted = self._properties, task.cls.constraints
        result: Scores = np.zeros(properties.count)
        if self._affinity:
            for weight, term in wanted.preferred:
                result += self._affinity * weight * properties.matching(term)
        if self._images and wanted.images:
            result += self._images * self._locality(wanted.images)
        return result

    def _locality(self, images: tuple[str, ...]) -> Scores:
        """How much of the images is there already, less where few nodes have them: those would all be overrun."""
        there: Scores = np.zeros(self._properties.count)
        for image in images:
            rows = self._properties.images.get(image)
            if rows:
                part = len(rows) / max(1, len(self._nodes))
                there[np.fromiter(rows.keys(), np.int64, len(rows))] += np.floor(
                    np.fromiter(rows.values(), np.float64, len(rows)) * part
                )
        enough = _LARGE_IMAGE * len(images)
        kept = np.clip(there, _SMALL_IMAGES, enough)
        result: Scores = np.floor(MAX_NODE_SCORE * (kept - _SMALL_IMAGES) / (enough - _SMALL_IMAGES))
        return result

    # --- a row's filling ---------------------------------------------------------------------------------------

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        cpu, memory = self._fraction(rows, CPU), self._fraction(rows, MEMORY)
        total: Scores = np.zeros(len(cpu))
        if self._least:
            total += self._least * MAX_NODE_SCORE / 2 * (np.maximum(1 - cpu, 0) + np.maximum(1 - memory, 0))
        if self._most:
            full = np.where(cpu <= 1, cpu, 0.0) + np.where(memory <= 1, memory, 0.0)
            total += self._most * MAX_NODE_SCORE / 2 * full
        if self._balanced:
            others = [column for column in self._columns if column > MEMORY and cls.request.amount(column)]
            shares = [cpu, memory, *(self._fraction(rows, column) for column in others)]
            total += self._balanced * MAX_NODE_SCORE * (1 - _deviation(shares))
        return total

    def _fraction(self, rows: Rows, column: int) -> Scores:
        """How full a row would be; a row that has none of it counts as full."""
        capacity, wanted = rows.allocatable(column), rows.filled(column)
        if capacity.all():
            result: Scores = wanted / capacity
            return result
        return np.where(capacity > 0, wanted / np.maximum(capacity, 1), 1.0)

    # --- all nodes ---------------------------------------------------------------------------------------------

    def _prefers_peers(self, task: Task) -> bool:
        return bool(self._peer_affinity) and (
            bool(task.cls.constraints.preferred_peers) or self._peers.drawn(task)
        )

    def _prefers_even(self, task: Task) -> bool:
        return bool(self._spread) and bool(spread.soft(task))

    def _avoids_taints(self, task: Task) -> bool:
        return bool(self._taints) and self._properties.any_taint_set(
            lambda taint_set: _disliked(taint_set, task) > 0
        )

    def batch_node_order(self, task: Task, rows: NDArray[np.int64]) -> Scores:
        total: Scores = np.zeros(len(rows))
        if self._prefers_peers(task):
            weights = affinity.attraction(self._peers, self._properties, task)[rows]
            low, high = weights.min(), weights.max()
            if high > low:
                total += self._peer_affinity * np.floor(MAX_NODE_SCORE * (weights - low) / (high - low))
        if self._prefers_even(task):
            wanted = task.cls.constraints
            total += self._spread * spread.evenness(
                self._peers, self._properties, task, rows, lambda each: eligible(self._properties, wanted, each)
            )
        if self._avoids_taints(task):
            counts = np.array([_disliked(taint_set, task) for taint_set in self._properties.taint_sets])
            disliked = counts[self._properties.taint_set_of[rows]]
            worst = max(1, int(disliked.max()))
            total += self._taints * (MAX_NODE_SCORE - np.floor(MAX_NODE_SCORE * disliked / worst))
        return total


def _deviation(shares: list[Scores]) -> Scores:
    """The standard deviation of some shares of each row, none of them above one."""
    capped = [np.minimum(share, 1.0) for share in shares]
    result: Scores = np.abs(capped[0] - capped[1]) / 2 if len(capped) == 2 else np.std(capped, axis=0)
    return result


def _disliked(taint_set: TaintSet, task: Task) -> int:
    """Taints that a node would rather not have such a task for."""
    tolerations = task.cls.constraints.tolerations
    return sum(
        1 for taint in taint_set.taints if taint.effect == "PreferNoSchedule" and not tolerates(tolerations, taint)
    )
