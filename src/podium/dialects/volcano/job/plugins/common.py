"""What several job plugins do: names of hosts, ports, volumes, variables."""

from __future__ import annotations

from podium.dialects.volcano.job.names import pod_name
from podium.dialects.volcano.job.plugin import Document, Flag, containers
from podium.dialects.volcano.job.types import Job, TaskSpec

LARGEST = 1 << 20  # what a server takes as the data of a ConfigMap or a Secret, in bytes

MASTER = Flag("master", "master", "the task that leads")
WORKER = Flag("worker", "worker", "the task that does the work")


def hosts(job: Job, task: TaskSpec) -> list[tuple[str, str]]:
    """The host name and the full name of each pod of a task.  A template that sets one has it for all of them."""
    spec = task.pod_template().get("spec") or {}
    own, domain = spec.get("hostname"), spec.get("subdomain") or job.name
    names = [own] if own else [pod_name(job.name, task.name, index) for index in range(task.replicas)]
    return [(name, f"{name}.{domain}") for name in names[: task.replicas]]


def full_names(job: Job, task: TaskSpec) -> list[str]:
    return [full for _, full in hosts(job, task)]


def names_size(job: Job, task: TaskSpec) -> int:
    """How long the list of a task's full names is about, without making it: there may be any number of pods."""
    hosts_of_its_own = (task.pod_template().get("spec") or {}).get("hostname")
    return (1 if hosts_of_its_own else task.replicas) * (len(first_host(job, task)) + 1)


def first_host(job: Job, task: TaskSpec) -> str:
    """The full name of a task's first pod, also of a task that has none yet."""
    spec = task.pod_template().get("spec") or {}
    return f"{spec.get('hostname') or pod_name(job.name, task.name, 0)}.{spec.get('subdomain') or job.name}"


def plain(name: str, value: object) -> Document:
    """An environment variable."""
    return {"name": name, "value": str(value)}


def open_port(container: Document, name: str, port: int) -> None:
    """Declares a port, unless the container has declared it itself."""
    known = container.setdefault("ports", [])
    if all(each.get("containerPort") != port for each in known):
        known.append({"name": name, "containerPort": port})


def mount(pod: Document, volume: Document, path: str, sub_path: str = "") -> None:
    """Gives a volume to a pod and to all of its containers."""
    pod["spec"].setdefault("volumes", []).append(volume)
    mounted = {"name": volume["name"], "mountPath": path}
    if sub_path:
        mounted["subPath"] = sub_path
    for container in containers(pod):
        container.setdefault("volumeMounts", []).append(dict(mounted))
