"""hcclrank: the rank of each pod as an annotation, where the libraries of Ascend devices look for it."""

from __future__ import annotations

from podium.dialects.volcano.job.plugin import Document, JobPlugin, containers
from podium.dialects.volcano.job.plugins.common import MASTER, WORKER
from podium.dialects.volcano.job.types import TaskSpec

_RANK_INDEX = "hccl/rankIndex"
_RANK = "RANK"


class HcclRankPlugin(JobPlugin):
    name = "hcclrank"
    FLAGS = (MASTER, WORKER)

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        annotations = pod["metadata"].setdefault("annotations", {})
        rank = _given(pod) or self._rank(task, index)
        if rank and not annotations.get(_RANK_INDEX):
            annotations[_RANK_INDEX] = rank

    def _rank(self, task: TaskSpec, index: int) -> str:
        """Workers come after all masters."""
        master = self.flags.text("master")
        if task.name == master:
            return str(index)
        if task.name != self.flags.text("worker"):
            return ""
        leaders = self.job.task(master)
        return str(index + (leaders.replicas if leaders is not None else 0))


def _given(pod: Document) -> str:
    """The rank that the template gives by itself."""
    variables = (each for container in containers(pod, init=False) for each in container.get("env") or ())
    return next((str(each["value"]) for each in variables if each.get("name") == _RANK and each.get("value")), "")
