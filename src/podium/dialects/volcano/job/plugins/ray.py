"""ray: a Ray cluster of one head and its workers, with a Service for those who use it.

The containers' commands are replaced: what a Ray node runs is `ray start`.
"""

from __future__ import annotations

from podium.dialects.volcano.job.names import JOB_NAME, JOB_NAMESPACE
from podium.dialects.volcano.job.plugin import Document, Flag, JobPlugin, Wanted, containers
from podium.dialects.volcano.job.plugins.common import WORKER, first_host, open_port
from podium.dialects.volcano.job.types import TaskSpec
from podium.dialects.volcano.names import TASK_SPEC
from podium.kube.resources import SERVICES

# A port's name, and the argument that says its number.
_PORTS = (("gcs", "port"), ("dashboard", "dashboardPort"), ("client-server", "clientPort"))


class RayPlugin(JobPlugin):
    name = "ray"
    FLAGS = (
        Flag("head", "head", "the task that is the head"),
        Flag("headContainer", "head", "the container of the head that runs Ray"),
        WORKER,
        Flag("workerContainer", "worker", "the container of a worker that runs Ray"),
        Flag("port", 6379, "the head's port for its workers"),
        Flag("dashboardPort", 8265, "the head's port for its dashboard"),
        Flag("clientPort", 10001, "the head's port for clients"),
    )

    def problems(self) -> list[str]:
        head = self.flags.text("head")
        if self.job.task(head) is not None:
            return []
        return [f"there is no task {head} to be the head: name it by --head"]

    def objects(self) -> list[Wanted]:
        selector = {
            JOB_NAME: self.job.name,
            JOB_NAMESPACE: self.job.namespace,
            TASK_SPEC: self.flags.text("head"),
        }
        ports = [
            {"name": name, "port": self.flags.integer(flag), "targetPort": name, "protocol": "TCP"}
            for name, flag in _PORTS
        ]
        return [
            {
                "apiVersion": SERVICES.api_version,
                "kind": SERVICES.kind,
                "metadata": {"name": f"{self.job.name}-head-svc"},
                "spec": {"selector": selector, "ports": ports},
            }
        ]

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        head = self.job.task(self.flags.text("head"))
        for container in containers(pod, init=False):
            mine = (task.name, container.get("name"))
            if mine == (self.flags.text("head"), self.flags.text("headContainer")):
                self._lead(container)
            elif head is not None and mine == (self.flags.text("worker"), self.flags.text("workerContainer")):
                address = f"{first_host(self.job, head)}:{self.flags.integer('port')}"
                container["command"] = ["sh", "-c", f"ray start --block --address={address}"]

    def _lead(self, container: Document) -> None:
        for name, flag in _PORTS:
            open_port(container, name, self.flags.integer(flag))
        port, dashboard, client = (self.flags.integer(flag) for _, flag in _PORTS)
        start = (
            f"ray start --head --block --dashboard-host=0.0.0.0 --port={port} --dashboard-port={dashboard}"
            f" --ray-client-server-port={client}"
        )
        container["command"] = ["sh", "-c", start]
