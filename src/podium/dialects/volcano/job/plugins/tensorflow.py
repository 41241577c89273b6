"""tensorflow: TF_CONFIG, in which TensorFlow reads the hosts of its cluster and its own part in it."""

from __future__ import annotations

import msgspec

from podium.dialects.volcano.job.plugin import Document, Flag, JobPlugin, add_variable, containers
from podium.dialects.volcano.job.plugins.common import full_names, plain
from podium.dialects.volcano.job.types import TaskSpec

_PARTS = ("ps", "worker", "chief", "evaluator")


class TensorflowPlugin(JobPlugin):
    name = "tensorflow"
    FLAGS = (
        *(Flag(part, part, f"the task that is the cluster's {part}") for part in _PARTS),
        Flag("port", 2222, "the port on which they talk"),
    )

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        if self.job.total == 1 and len(self.job.spec.tasks) == 1:
            return  # one pod alone is no cluster
        port = self.flags.integer("port")
        cluster = {}
        kind = task.name
        for part in _PARTS:
            found = self.job.task(self.flags.text(part))
            if found is None:
                continue
            if found.replicas:
                cluster[part] = [f"{host}:{port}" for host in full_names(self.job, found)]
            if found.name == task.name:
                kind = part
        reported = msgspec.json.encode({"cluster": cluster, "task": {"type": kind, "index": index}}).decode()
        for container in containers(pod, init=False):
            add_variable(container, plain("TF_CONFIG", reported))
