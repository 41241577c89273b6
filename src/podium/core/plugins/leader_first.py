"""leaderfirst: the leader of a job gets an idle node, and its workers fill busy ones.

    f      = sum(w_r * u_r) / sum(w_r)      over the resources that the node has (see `job_policy`)
    leader   100 * weight * (1 - f)         GPUs count most: the learner wants a quiet node
    worker   100 * weight * f               CPUs count most: actors are put where little is left

Who is a leader, the task's role says.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Scores
from podium.core.framework.session import Session
from podium.core.model.model import Task, TaskClass
from podium.core.placement.rows import Rows
from podium.core.plugins.job_policy import JobPolicy, by_column, filling_of_node, for_argument, read_weights


class LeaderFirst(JobPolicy):
    name = "leaderfirst"
    ARGUMENTS = (
        Argument("leaderfirst.weight", 1, "how much the score counts beside those of other plugins"),
        Argument("leaderfirst.leader", "cpu=1, memory=1, nvidia.com/gpu=5", "what counts how much for leaders"),
        Argument("leaderfirst.worker", "cpu=5, memory=1, nvidia.com/gpu=1", "what counts how much for workers"),
        Argument("leaderfirst.role", "leader", "the role of leaders; all other tasks are workers"),
        for_argument("leaderfirst"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number("leaderfirst.weight")
        self._role = arguments.text("leaderfirst.role")

    def on_session_open(self, session: Session) -> None:
        dimensions = session.cluster.dimensions
        self._leader = by_column(read_weights(self.arguments.text("leaderfirst.leader")), dimensions)
        self._worker = by_column(read_weights(self.arguments.text("leaderfirst.worker")), dimensions)

    def signature(self, task: Task) -> Hashable:
        return super().signature(task), task.role == self._role

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        assert rows.task is not None
        leads = rows.task.role == self._role
        filling = filling_of_node(rows, self._leader if leads else self._worker)
        result: Scores = MAX_NODE_SCORE * self._weight * np.clip(1 - filling if leads else filling, 0.0, 1.0)
        return result
