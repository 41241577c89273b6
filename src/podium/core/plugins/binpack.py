"""binpack: fill nodes up, so that large tasks still find whole ones.

    score = 100 * weight * sum(w_r * (used_r + request_r) / allocatable_r) / sum(w_r)

over the resources that are configured and asked for; zero where one would not fit.
"""

from __future__ import annotations

import numpy as np

from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Scores
from podium.core.framework.session import Session
from podium.core.model.model import TaskClass
from podium.core.placement.rows import Rows
from podium.core.plugins.job_policy import JobPolicy, for_argument


class Binpack(JobPolicy):
    name = "binpack"
    ARGUMENTS = (
        Argument("binpack.weight", 1, "how much the score counts beside those of other plugins"),
        Argument("binpack.cpu", 1, "how much CPU counts"),
        Argument("binpack.memory", 1, "how much memory counts"),
        Argument("binpack.resources", "", "other resources that count, separated by commas"),
        Argument("binpack.resources.<name>", 1, "how much one of them counts"),
        for_argument("binpack"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number("binpack.weight")
        self._by_name = {
            "cpu": arguments.number("binpack.cpu"),
            "memory": arguments.number("binpack.memory"),
        }
        for name in arguments.text("binpack.resources").split(","):
            if name.strip():
                self._by_name[name.strip()] = arguments.number(f"binpack.resources.{name.strip()}")
        self._by_column: dict[int, float] = {}

    def on_session_open(self, session: Session) -> None:
        dimensions = session.cluster.dimensions
        self._by_column = {dimensions.column(name): w for name, w in self._by_name.items() if w > 0}

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        total: Scores = np.zeros(len(rows.allocatable(0)))
        fits = np.ones(len(total), dtype=bool)
        weights = 0.0
        for column, _ in cls.request.pairs:
            weight = self._by_column.get(column)
            if weight is None:
                continue
            weights += weight
            capacity = rows.allocatable(column)
            filled = rows.filled(column)
            fits &= filled <= capacity
            total += weight * filled / np.maximum(capacity, 1)
        if not weights:
            return total
        result: Scores = np.where(fits, MAX_NODE_SCORE * self._weight * total / weights, 0.0)
        return result
