"""gpunodes: nodes with GPUs are for tasks that want GPUs.

A task without GPUs goes to a node without GPUs, if there is room on one.  On a node with GPUs it leaves the cores
that tasks which wait for GPUs need beside those that are free there: GPUs without cores are of no use to anybody.
"""

from __future__ import annotations

import numpy as np

from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Mask, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.model import State, Task, TaskClass
from podium.core.model.resources import CPU
from podium.core.placement.rows import Rows


class GpuNodes(Plugin):
    name = "gpunodes"
    ARGUMENTS = (
        Argument("gpunodes.weight", 1.0, "How much it counts that a node has no GPUs."),
        Argument("gpunodes.resource", "nvidia.com/gpu", "The resource that counts as GPUs."),
    )

    def on_session_open(self, session: Session) -> None:
        self._nodes = session.cluster.nodes
        self._column = session.cluster.dimensions.find(self.arguments.text("gpunodes.resource"))
        # By GPUs and thousandths of a core, how many tasks wait for them.
        self._waiting: dict[tuple[int, int], int] = {}
        if self._column is None:
            return
        for gang in session.waiting_gangs:
            for task in gang.tasks.values():
                gpus = task.cls.request.amount(self._column) if task.state is State.PENDING else 0
                if gpus:
                    kind = (gpus, task.cls.request.amount(CPU))
                    self._waiting[kind] = self._waiting.get(kind, 0) + 1

    def applies(self, hook: str, task: Task) -> bool:
        """To tasks without GPUs; the mask only where somebody waits for some."""
        if self._column is None or task.cls.request.amount(self._column):
            return False
        return hook != "mask_rows" or bool(self._waiting)

    def score(self, task: Task, session: Session) -> Scores:
        bare = self._nodes.allocatable[: self._nodes.count, self._column] == 0
        scores: Scores = bare * (MAX_NODE_SCORE * self.arguments.number("gpunodes.weight"))
        return scores

    def mask_rows(self, cls: TaskClass, rows: Rows) -> Mask:
        assert self._column is not None
        gpus = rows.allocatable(self._column) - rows.used(self._column)
        left = rows.allocatable(CPU) - rows.filled(CPU)
        before = left + cls.request.amount(CPU)
        fits: Mask = np.ones(len(rows.index), dtype=bool)
        for (wanted, cores), count in self._waiting.items():
            if cores:
                could = np.minimum(np.minimum(gpus // wanted, before // cores), count)
                fits &= (left >= could * cores) | (could <= 0)
        return fits
