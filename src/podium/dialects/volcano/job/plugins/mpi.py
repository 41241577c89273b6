"""mpi: the master learns the hosts of its workers, and all open the port by which it reaches them.

The keys come from `ssh` and the names from `svc`: a Job with this plugin has both.
"""

from __future__ import annotations

from podium.dialects.volcano.job.plugin import Document, Flag, JobPlugin, add_variable, containers
from podium.dialects.volcano.job.plugins.common import MASTER, WORKER, full_names, open_port, plain
from podium.dialects.volcano.job.types import TaskSpec


class MpiPlugin(JobPlugin):
    name = "mpi"
    FLAGS = (MASTER, WORKER, Flag("port", 22, "the port of the workers' ssh servers"))

    def problems(self) -> list[str]:
        master = self.flags.text("master")
        if self.job.task(master) is not None:
            return []
        return [f"there is no task {master} to be the master: name it by --master"]

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        worker = self.job.task(self.flags.text("worker"))
        leads = task.name == self.flags.text("master")
        for container in containers(pod):
            open_port(container, "mpijob-port", self.flags.integer("port"))
            if leads and worker is not None:
                add_variable(container, plain("MPI_HOST", ",".join(full_names(self.job, worker))))
