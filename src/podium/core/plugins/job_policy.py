"""What plugins have in common that place each job as the job itself asks for it.

A job may name its placement policy (the gang's attribute `placementPolicy`).  A plugin whose argument `<name>.for`
lists policies speaks for the jobs that name one of them; `others` in the list are jobs that name none.  With an
empty list it speaks for all, like any plugin.

    u_r = (what is taken on the node, with one more task) / allocatable

How full a node would be is the weighted mean of u_r, over the resources that the task asks for, or over all that
the node has.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from podium.core.framework.plugin import Argument, Arguments, Plugin, Scores
from podium.core.model.attributes import PLACEMENT_POLICY
from podium.core.model.model import Gang, Task, TaskClass
from podium.core.model.resources import Dimensions
from podium.core.placement.rows import Rows

OTHERS = "others"

Weights = Mapping[int, float]  # by column


def for_argument(name: str) -> Argument:
    about = f"the placement policies of the jobs that it is for, separated by commas; `{OTHERS}` name none"
    return Argument(f"{name}.for", "", f"{about}; empty: all jobs")


class JobPolicy(Plugin):
    """A plugin that may be for some jobs only."""

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        given = arguments.text(f"{self.name}.for")
        self._policies = frozenset(each.strip() for each in given.split(",") if each.strip())

    def has(self, hook: str) -> bool:
        """Who is for all looks at nothing but the class."""
        idle = hook == "applies" or (hook == "signature" and type(self).signature is JobPolicy.signature)
        return super().has(hook) and (bool(self._policies) or not idle)

    def is_for(self, gang: Gang) -> bool:
        return not self._policies or gang.attributes.get(PLACEMENT_POLICY, OTHERS) in self._policies

    def applies(self, hook: str, task: Task) -> bool:
        return self.is_for(task.gang)

    def signature(self, task: Task) -> Hashable:
        return task.gang.attributes.get(PLACEMENT_POLICY)


# --- how full nodes would be -----------------------------------------------------------------------------------


def read_weights(text: str) -> dict[str, float]:
    """Weights of resources: `cpu=1, memory=1, nvidia.com/gpu=5`.  What cannot be read counts as not given."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            weight = float(value)
        except ValueError:
            continue
        if name.strip() and math.isfinite(weight) and weight > 0:
            found[name.strip()] = weight
    return found


def by_column(weights: Mapping[str, float], dimensions: Dimensions) -> dict[int, float]:
    return {dimensions.column(name): weight for name, weight in weights.items()}


def filling_of_asked(cls: TaskClass, rows: Rows, weights: Weights) -> Scores:
    """How full each row would be, from 0 to 1, in what the task asks for."""
    columns = [column for column, _ in cls.request.pairs if column in weights]
    return _mean(rows, columns, weights)


def filling_of_node(rows: Rows, weights: Weights) -> Scores:
    """How full each row would be, from 0 to 1, in all that it has."""
    return _mean(rows, weights, weights)


def used_part(rows: Rows, column: int) -> Scores:
    """The part of one resource that would be taken; none of what a row has not."""
    capacity = rows.allocatable(column)
    result: Scores = np.where(capacity > 0, rows.filled(column) / np.maximum(capacity, 1), 0.0)
    return result


def _mean(rows: Rows, columns: Iterable[int], weights: Weights) -> Scores:
    total: Scores = np.zeros(len(rows.index))
    whole: Scores = np.zeros(len(rows.index))
    for column in columns:
        total += weights[column] * used_part(rows, column)
        whole += weights[column] * (rows.allocatable(column) > 0)
    result: Scores = total / np.where(whole > 0, whole, 1.0)
    return result
