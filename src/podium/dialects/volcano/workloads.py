"""Groups, Queues and Jobs as Volcano's users write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import (
    GROUP_NAME,
    PODGROUPS,
    QUEUE_NAME,
    QUEUES,
    SCHEDULER,
    TASK_SPEC,
    group_id,
)
from podium.dialects.workloads import NAMESPACE, Ask, Authoring, Document, Rng, Workload, pod, template
from podium.kube.pod_script import EXIT_CODE


def queue(name: str, spec: Mapping[str, Any]) -> Document:
    return {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec},
    }


def group(name: str, minimum: int, ask: Ask) -> Document:
    spec: Document = {"minMember": minimum, "queue": ask.queue}
    if ask.priority:
        spec["priorityClassName"] = ask.priority
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def joining(name: str) -> dict[str, str]:
    return {GROUP_NAME: name}


def naming(name: str) -> dict[str, str]:
    return {QUEUE_NAME: name}


def job(name: str, tasks: Mapping[str, int], ask: Ask, minimum: int | None = None) -> Document:
    """A Job with so many pods of each task."""
    spec: Document = {
        "schedulerName": ask.scheduler,
        "minAvailable": sum(tasks.values()) if minimum is None else minimum,
        "queue": ask.queue,
        "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
        "tasks": [
            {"name": task, "replicas": replicas, "template": template(ask, **{TASK_SPEC: task})}
            for task, replicas in tasks.items()
        ],
    }
    if ask.priority:
        spec["priorityClassName"] = ask.priority
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


# --- draws -------------------------------------------------------------------------------


def _some_group(rng: Rng, name: str) -> list[Document]:
    members = rng.whole(2, 5)
    minimum = rng.whole(1, members) if rng.chance(0.3) else members
    ask = rng.ask()
    pods = (pod(f"{name}-{number}", ask, **joining(name)) for number in range(members))
    return [group(name, minimum, ask), *pods]


def _some_job(rng: Rng, name: str) -> list[Document]:
    tasks = {"driver": 1, "worker": rng.whole(1, 3)} if rng.chance(0.5) else {"worker": rng.whole(2, 4)}
    made = job(name, tasks, rng.ask())
    rng.pick(_MANNERS)(made["spec"])
    if rng.chance(0.2):
        made["spec"]["ttlSecondsAfterFinished"] = rng.whole(0, 20)
    return [made]


def _plain(spec: Document) -> None:
    """All its pods start together; it begins anew when one is pushed out."""


def _elastic(spec: Document) -> None:
    """One pod is enough to begin with."""
    spec["minAvailable"] = 1


def _ordered(spec: Document) -> None:
    """The last task waits until the first one runs."""
    spec["minAvailable"] = 1
    first, last = spec["tasks"][0], spec["tasks"][-1]
    if first is not last:
        last["dependsOn"] = {"name": [first["name"]]}


def _led(spec: Document) -> None:
    """It is over when its first task is, and its pods know each other's names."""
    spec["tasks"][0]["policies"] = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    spec["plugins"] = {"env": [], "svc": []}


def _failing(spec: Document) -> None:
    """Its pods fail; it is begun once more, and then given up."""
    spec |= {"maxRetry": 1, "policies": [{"event": "PodFailed", "action": "RestartJob"}]}
    for task in spec["tasks"]:
        task["template"]["metadata"]["annotations"][EXIT_CODE] = "1"


_MANNERS: tuple[Callable[[Document], None], ...] = (_plain, _plain, _elastic, _ordered, _led, _failing)

WORKLOADS: Mapping[str, Workload] = {
    "group": Workload(_some_group, gang=True),
    "vcjob": Workload(_some_job, gang=True),
}
SURROUNDINGS = (queue("research", {"weight": 3}), queue("limited", {"capability": {"cpu": "6"}}))


def _job_of(name: str, size: int, ask: Ask) -> Document:
    return job(name, {"worker": size}, ask)


AUTHORING = Authoring(SCHEDULER, QUEUES, PODGROUPS, queue, group, _job_of, joining, naming, group_id)
