"""pytorch: the variables by which torch.distributed finds its master and its rank."""

from __future__ import annotations

from podium.dialects.volcano.job.plugin import Document, Flag, JobPlugin, add_variable, containers
from podium.dialects.volcano.job.plugins.common import MASTER, WORKER, first_host, open_port, plain
from podium.dialects.volcano.job.types import TaskSpec

_WAITER = "wait-for-master"
_WAIT = """\
waited=0
until nc -z {host} {port} 2>/dev/null; do
  if [ "$waited" -ge {timeout} ]; then
    echo "{host}:{port} did not answer within {timeout} seconds"
    exit 1
  fi
  sleep 2
  waited=$((waited + 2))
done
"""


class PytorchPlugin(JobPlugin):
    name = "pytorch"
    FLAGS = (
        MASTER,
        WORKER,
        Flag("port", 23456, "the master's port"),
        Flag("wait-master-enabled", False, "workers start when the master answers"),
        Flag("wait-master-timeout", 300, "how many seconds they wait for it"),
        Flag("wait-master-image", "busybox:1.36.1", "the image in which they wait"),
    )

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        master = self.job.task(self.flags.text("master"))
        if master is None:
            return
        worker = self.job.task(self.flags.text("worker"))
        port = self.flags.integer("port")
        host = first_host(self.job, master)
        variables = {
            "MASTER_ADDR": host,
            "MASTER_PORT": port,
            "WORLD_SIZE": master.replicas + (worker.replicas if worker is not None else 0),
        }
        if task.name == master.name:
            variables["RANK"] = index
        elif worker is not None and task.name == worker.name:
            variables["RANK"] = master.replicas + index
            if self.flags.switch("wait-master-enabled"):
                self._let_wait(pod, host, port)
        for container in containers(pod, init=False):
            open_port(container, "pytorchjob-port", port)
            for name, value in variables.items():
                add_variable(container, plain(name, value))

    def _let_wait(self, pod: Document, host: str, port: int) -> None:
        first = pod["spec"].setdefault("initContainers", [])
        if any(container.get("name") == _WAITER for container in first):
            return
        script = _WAIT.format(host=host, port=port, timeout=self.flags.integer("wait-master-timeout"))
        image = self.flags.text("wait-master-image")
        first.append({"name": _WAITER, "image": image, "command": ["sh", "-c", script]})
