"""Topology spread on vectors: keeping the numbers of some tasks close to each other over domains.

    skew of a row = tasks in its domain (with the incoming one, if it counts) - tasks in the emptiest domain

A hard constraint refuses rows where the skew would exceed its limit; a soft one scores emptier domains higher.
Domains count as far as they have an eligible node: one with all labels of the task's constraints that, as each
constraint says, the task's node affinity admits and whose taints it tolerates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.peers import STAYING, Peers, by_domain
from podium.core.cluster.properties import ABSENT, Properties
from podium.core.model.constraints import Spread
from podium.core.model.model import Task
from podium.core.model.parties import Counts

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]
Eligible = Callable[[Spread], Mask]  # the rows that count for a constraint, as its two policies say


def hard(task: Task) -> list[Spread]:
    return [each for each in task.cls.constraints.spread if each.hard]


def soft(task: Task) -> list[Spread]:
    return [each for each in task.cls.constraints.spread if not each.hard]


def exceeds_max_skew(peers: Peers, properties: Properties, task: Task, eligible: Eligible) -> Mask:
    """Rows that a hard constraint refuses."""
    constraints = hard(task)
    labelled = _labelled(properties, constraints)
    refused = np.zeros(properties.count, dtype=bool)
    for each in constraints:
        domains = properties.domains(each.key)
        counting = labelled & eligible(each)
        column = peers.column(each.selection)
        counts = _counting(peers.counts(column, STAYING, properties.count), counting)
        here = by_domain(domains, counts)
        least = 0
        if counting.any() and _how_many(domains[counting]) >= each.min_domains:
            least = int(here[counting].min())
        own = int(peers.matched(column, task))
        refused |= (domains == ABSENT) | (here + own - least > each.max_skew)
    return refused


def evenness(
    peers: Peers, properties: Properties, task: Task, rows: NDArray[np.int64], eligible: Eligible
) -> Scores:
    """How well each of the possible rows serves the soft constraints, 0 to 100; rows without the labels get 0."""
    constraints = soft(task)
    labelled = _labelled(properties, constraints)
    total = np.zeros(len(rows))
    inside = labelled[rows]
    for each in constraints:
        domains = properties.domains(each.key)
        counts = peers.counts(peers.column(each.selection), STAYING, properties.count)
        if each.by_node:
            here = counts if counts is not None else np.zeros(properties.count, dtype=np.int64)
            size = int(np.count_nonzero(inside))
        else:
            here = by_domain(domains, _counting(counts, labelled & eligible(each)))
            size = _how_many(domains[rows][inside])
        # Of many domains each holds few tasks: a logarithm keeps constraints over few and many comparable.
        total += here[rows] * math.log(size + 2) + (each.max_skew - 1)
    total = np.round(total)
    if not inside.any():
        return np.zeros(len(rows))
    most, least = total[inside].max(), total[inside].min()
    if most == 0:
        return np.where(inside, 100.0, 0.0)
    return np.where(inside, np.floor(100.0 * (most + least - total) / most), 0.0)


def _how_many(domains: NDArray[np.int32]) -> int:
    """The number of different domains, all of them known."""
    return int(np.count_nonzero(np.bincount(domains)))


def _labelled(properties: Properties, constraints: Sequence[Spread]) -> Mask:
    found = np.ones(properties.count, dtype=bool)
    for each in constraints:
        found &= properties.labelled(each.key)
    return found


def _counting(counts: Counts | None, rows: Mask) -> Counts | None:
    return None if counts is None else np.where(rows, counts, 0)
