"""What lives on the cluster of a history: nodes, queues and workloads of every kind, drawn from a seed.

A family of workloads is a function in `WORKLOADS`; it gets a draw and a name, and gives the objects that its users
would create.  A further API family joins all histories by a line there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from podium.dialects.volcano.names import DEFAULT_QUEUE, GROUP_NAME, QUEUE_NAME, TASK_SPEC
from podium.embedded.nodes.script import EXIT_CODE, RUN_SECONDS, TERMINATION_SECONDS
from podium.embedded.nodes.shapes import GPU, Shape, node_document
from podium.sim.draw import Draw

Document = dict[str, Any]

NAMESPACE = "default"
# The scheduler name whose profile takes from others when it must, and the one whose profile never does.
TAKING, PEACEFUL = "podium", "volcano"
PRIORITIES = {"low": 0, "middle": 100, "high": 1000}


class Ask(msgspec.Struct, frozen=True):
    """What each pod of a workload wants and how long it runs; None for as long as it is let."""

    cpu: int = 1
    gpus: int = 0
    seconds: float | None = 30.0
    scheduler: str = TAKING
    queue: str = DEFAULT_QUEUE
    priority: str = ""
    spec: Mapping[str, Any] = {}
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    leaving: float = 0.0  # seconds that it takes to obey when it is told to go
    owner: str = ""  # the controller of pods that are not made by one of the cluster's own


# --- objects -------------------------------------------------------------------------------


def node(name: str, number: int, cpu: int = 8, gpus: int = 0, **more: Any) -> Document:
    return node_document(Shape(cpu=cpu, gpus=gpus, memory="64Gi", **more), name, number, 0.0)


def queue(name: str, weight: int = 1, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight, **spec},
    }


def priority_classes() -> list[Document]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in PRIORITIES.items()
    ]


def budget(name: str, labels: Mapping[str, str], least: int) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"minAvailable": least, "selector": {"matchLabels": dict(labels)}},
    }


def template(ask: Ask, **annotations: str) -> Document:
    """Metadata and spec of a pod."""
    amounts = {"cpu": str(ask.cpu), **({GPU: str(ask.gpus)} if ask.gpus else {})}
    script = {RUN_SECONDS: f"{ask.seconds:g}"} if ask.seconds is not None else {}
    if ask.leaving:
        script[TERMINATION_SECONDS] = f"{ask.leaving:g}"
    metadata: Document = {
        "labels": dict(ask.labels),
        "annotations": {**script, **ask.annotations, **annotations},
        "finalizers": list(ask.finalizers),
    }
    if ask.owner:
        owner = {"apiVersion": "example.com/v1", "kind": "Trainer", "name": ask.owner, "uid": ask.owner}
        metadata["ownerReferences"] = [{**owner, "controller": True}]
    spec: Document = {
        "schedulerName": ask.scheduler,
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "app", "resources": {"requests": amounts, "limits": amounts}}],
        **ask.spec,
    }
    if ask.priority:
        spec["priorityClassName"] = ask.priority
    return {"metadata": metadata, "spec": spec}


def pod(name: str, ask: Ask, **annotations: str) -> Document:
    made = template(ask, **{QUEUE_NAME: ask.queue, **annotations})
    made["metadata"] |= {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def group(name: str, minimum: int, ask: Ask, **spec: Any) -> Document:
    spec = {"minMember": minimum, "queue": ask.queue, **spec}
    if ask.priority:
        spec["priorityClassName"] = ask.priority
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def gang(name: str, members: int, ask: Ask, minimum: int | None = None) -> list[Document]:
    """A group and its pods."""
    made = template(ask, **{GROUP_NAME: name})
    found = [group(name, members if minimum is None else minimum, ask)]
    for number in range(members):
        metadata = {**made["metadata"], "name": f"{name}-{number}", "namespace": NAMESPACE}
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]})
    return found


def volcano_job(name: str, tasks: Mapping[str, int], ask: Ask, minimum: int | None = None) -> Document:
    """A Volcano Job with so many pods of each task."""
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
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def batch_job(name: str, pods: int, ask: Ask) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"completions": pods, "parallelism": pods, "template": template(ask)},
    }


# --- draws -------------------------------------------------------------------------------


def some_ask(draw: Draw) -> Ask:
    """Any wishes that small nodes can meet; some of them would rather be near or far from others."""
    spec: Document = {}
    app = draw.pick(("red", "green", "blue"))
    if draw.chance(0.15):
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": term}]}
        spec["affinity"] = {draw.pick(("podAffinity", "podAntiAffinity")): preferred}
    elif draw.chance(0.15):
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    return Ask(
        cpu=draw.whole(1, 3),
        gpus=draw.pick((0, 0, 1, 2)),
        seconds=draw.pick((5.0, 20.0, 35.0, 50.0, None)),
        scheduler=draw.pick((TAKING, PEACEFUL)),
        queue=draw.pick((DEFAULT_QUEUE, "research", "limited")),
        priority=draw.pick(("", "low", "middle", "high")),
        spec=spec,
        labels={"app": app},
    )


def _lone(draw: Draw, name: str) -> list[Document]:
    return [pod(name, some_ask(draw))]


def _group(draw: Draw, name: str) -> list[Document]:
    members = draw.whole(2, 5)
    minimum = draw.whole(1, members) if draw.chance(0.3) else None
    return gang(name, members, some_ask(draw), minimum)


def _volcano_job(draw: Draw, name: str) -> list[Document]:
    tasks = {"driver": 1, "worker": draw.whole(1, 3)} if draw.chance(0.5) else {"worker": draw.whole(2, 4)}
    job = volcano_job(name, tasks, some_ask(draw))
    draw.pick(_MANNERS)(job["spec"])
    if draw.chance(0.2):
        job["spec"]["ttlSecondsAfterFinished"] = draw.whole(0, 20)
    return [job]


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


def _batch_job(draw: Draw, name: str) -> list[Document]:
    return [batch_job(name, draw.whole(1, 3), some_ask(draw))]


Workload = Callable[[Draw, str], list[Document]]
WORKLOADS: Mapping[str, Workload] = {
    "pod": _lone,
    "group": _group,
    "vcjob": _volcano_job,
    "job": _batch_job,
}


def some_nodes(draw: Draw, count: int) -> list[Document]:
    return [
        node(f"node-{number}", number, cpu=draw.pick((4, 8)), gpus=draw.pick((0, 4, 8))) for number in range(count)
    ]


def surroundings() -> list[Document]:
    """What workloads refer to."""
    return [*priority_classes(), queue("research", 3), queue("limited", 1, capability={"cpu": "6"})]


def some_workloads(draw: Draw, count: int, kinds: tuple[str, ...] = tuple(WORKLOADS)) -> list[list[Document]]:
    """So many workloads of these kinds."""
    found = []
    for number in range(count):
        kind = draw.pick(kinds)
        found.append(WORKLOADS[kind](draw, f"{kind}-{number}"))
    return found
