"""jobaffinity and jobantiaffinity: the tasks of a job on few nodes, or on many.

    jobaffinity        100 * weight * (k + f) / (m + 1)
    jobantiaffinity    100 * weight * (m - k + f) / (m + 1)

where k of the job's m tasks are on the node, and f, below 1, is how full the node would be in what the task asks
for (see `job_policy`).  So k decides, and between equals the fuller node.  Both are wishes: what does not fit goes
elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Scores
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Task, TaskClass
from podium.core.placement.rows import Rows
from podium.core.plugins.job_policy import JobPolicy, by_column, filling_of_asked, for_argument, read_weights

_BELOW_ONE = 0.999  # a full node must not count as much as one more task


def _arguments(name: str) -> tuple[Argument, ...]:
    return (
        Argument(f"{name}.weight", 1, "how much the score counts beside those of other plugins"),
        Argument(f"{name}.resources", "cpu=1, memory=1, nvidia.com/gpu=1", "what counts how much in f"),
        for_argument(name),
    )


class JobAffinity(JobPolicy):
    name = "jobaffinity"
    ARGUMENTS = _arguments("jobaffinity")
    TOGETHER: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number(f"{self.name}.weight")

    def on_session_open(self, session: Session) -> None:
        self._session = session
        named = read_weights(self.arguments.text(f"{self.name}.resources"))
        self._weights = by_column(named, session.cluster.dimensions)

    def signature(self, task: Task) -> Hashable:
        """Where the others of its job are is another matter for each job."""
        return task.gang.id if self.is_for(task.gang) else None

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        assert rows.task is not None
        gang = rows.task.gang
        here = self._counts(gang)[rows.index] + rows.added
        members = len(gang.tasks)
        wished = here if self.TOGETHER else np.maximum(members - here, 0)
        filling = _BELOW_ONE * np.minimum(filling_of_asked(cls, rows, self._weights), 1.0)
        result: Scores = MAX_NODE_SCORE * self._weight * (wished + filling) / (members + 1)
        return result

    def _counts(self, gang: Gang) -> NDArray[np.int64]:
        """The tasks of a job by row, with those that have just been placed."""
        rows = [task.row for task in gang.tasks.values() if task.row >= 0]
        return np.bincount(np.array(rows, dtype=np.int64), minlength=self._session.cluster.nodes.count)


class JobAntiAffinity(JobAffinity):
    name = "jobantiaffinity"
    ARGUMENTS = _arguments("jobantiaffinity")
    TOGETHER = False
