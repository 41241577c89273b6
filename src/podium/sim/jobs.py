"""Jobs of a trace: so many pods that start together, run for some time, and are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podium.dialects import authoring
from podium.dialects.workloads import DEFAULT_QUEUE, NAMESPACE, Ask
from podium.embedded.nodes.shapes import GPU
from podium.kube.pod_script import RUN_SECONDS

Document = dict[str, Any]

SCHEDULER = "podium"  # whose name the pods carry, whatever the profile


class Job(msgspec.Struct, frozen=True):
    """One job; times in seconds from the beginning, amounts by the pod in milli-CPU, bytes and devices."""

    name: str
    arrival: float
    duration: float
    pods: int = 1
    gpus: int = 0
    cpu: int = 0
    memory: int = 0
    queue: str = DEFAULT_QUEUE
    priority: int = 0

    @property
    def all_gpus(self) -> int:
        return self.pods * self.gpus


def split(jobs: Sequence[Job], queues: Sequence[str], rule: str) -> list[Job]:
    """Gives each job a queue.

    `turn`: in turn, in the order of arrival.  `size`: the jobs of fewest GPUs to the first queue and those of most
    to the last, cut so that all queues have about the same GPU time to do.
    """
    if rule == "turn":
        chosen = {job.name: queues[number % len(queues)] for number, job in enumerate(jobs)}
    else:
        whole = sum(_work(job) for job in jobs) or 1.0
        done, chosen = 0.0, {}
        for job in sorted(jobs, key=lambda job: (job.all_gpus, job.pods * job.cpu)):
            middle = done + _work(job) / 2
            chosen[job.name] = queues[min(len(queues) - 1, int(middle * len(queues) / whole))]
            done += _work(job)
    return [msgspec.structs.replace(job, queue=chosen[job.name]) for job in jobs]


def _work(job: Job) -> float:
    """GPU seconds; core seconds where no GPUs are asked for."""
    return (job.all_gpus or job.pods * job.cpu / 1000) * job.duration


def priority_class(priority: int) -> str:
    """The name of the class of jobs with a priority."""
    return f"priority-{priority}"


def priority_class_document(priority: int) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class(priority)},
        "value": priority,
    }


def documents(job: Job) -> list[Document]:
    """The job's objects: the group, where there is more than one pod, and the pods."""
    pods = [pod_document(job, number) for number in range(job.pods)]
    if job.pods == 1:
        return pods
    ask = Ask(queue=job.queue, priority=priority_class(job.priority) if job.priority else "")
    return [authoring().group(job.name, job.pods, ask), *pods]


def pod_document(job: Job, number: int) -> Document:
    """One of a job's pods."""
    requests = {"cpu": f"{job.cpu}m", "memory": str(job.memory), GPU: str(job.gpus)}
    requests = {name: amount for name, amount in requests.items() if amount not in ("0", "0m")}
    marks = authoring().joining(job.name) if job.pods > 1 else authoring().naming(job.queue)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{job.name}-{number}",
            "namespace": NAMESPACE,
            "annotations": {RUN_SECONDS: f"{job.duration:.3f}", **marks},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "restartPolicy": "Never",
            **({"priorityClassName": priority_class(job.priority)} if job.priority else {}),
            "containers": [
                {"name": "main", "image": "trace", "resources": {"requests": requests, "limits": requests}}
            ],
        },
    }
