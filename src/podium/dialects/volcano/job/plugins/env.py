"""env: every container learns the number of its pod within the task, under today's name and that of old."""

from __future__ import annotations

from podium.dialects.volcano.job.plugin import Document, JobPlugin, add_variable, containers
from podium.dialects.volcano.job.plugins.common import plain
from podium.dialects.volcano.job.types import TaskSpec


class EnvPlugin(JobPlugin):
    name = "env"

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        for container in containers(pod):
            for name in ("VK_TASK_INDEX", "VC_TASK_INDEX"):
                add_variable(container, plain(name, index))
