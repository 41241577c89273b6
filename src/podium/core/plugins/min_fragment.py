"""minfragment: keep CPU and memory of a node equally used, so that neither is left over without the other.

    score = 100 * weight * (1 - |u_cpu - u_memory|) * f

where f is how full the node would be in what the task asks for (see `job_policy`), as binpack has it.
"""

from __future__ import annotations

import numpy as np

from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Scores
from podium.core.framework.session import Session
from podium.core.model.model import TaskClass
from podium.core.model.resources import CPU, MEMORY
from podium.core.placement.rows import Rows
from podium.core.plugins.job_policy import (
    JobPolicy,
    by_column,
    filling_of_asked,
    for_argument,
    read_weights,
    used_part,
)


class MinFragment(JobPolicy):
    name = "minfragment"
    ARGUMENTS = (
        Argument("minfragment.weight", 1, "how much the score counts beside those of other plugins"),
        Argument("minfragment.resources", "cpu=1, memory=1, nvidia.com/gpu=1", "what counts how much in f"),
        for_argument("minfragment"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number("minfragment.weight")

    def on_session_open(self, session: Session) -> None:
        named = read_weights(self.arguments.text("minfragment.resources"))
        self._weights = by_column(named, session.cluster.dimensions)

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        balance = 1 - np.abs(used_part(rows, CPU) - used_part(rows, MEMORY))
        result: Scores = MAX_NODE_SCORE * self._weight * balance * filling_of_asked(cls, rows, self._weights)
        return result
