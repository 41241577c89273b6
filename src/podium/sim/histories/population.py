"""What lives on the cluster of a history: nodes, queues and workloads of every kind, drawn from a seed.

A workload is a function of a draw and a name that gives the objects which a user would create.  Those of plain
Kubernetes are here, those of a dialect in its record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from podium.core.profiles.own_profiles import DEFAULT as OWN
from podium.dialects import authoring, speaking
from podium.dialects.workloads import DEFAULT_QUEUE, NAMESPACE, Ask, Document, Workload, template
from podium.dialects.workloads import Rng as Wishes
from podium.dialects.workloads import pod as plain_pod
from podium.embedded.nodes.shapes import Shape, node_document
from podium.sim.rng import Rng

T = TypeVar("T")

# The scheduler name whose profile takes from others when it must, and the one whose profile never does.
TAKING, PEACEFUL = OWN, authoring().scheduler
PRIORITIES = {"low": 0, "middle": 100, "high": 1000}


# --- objects -------------------------------------------------------------------------------


def node(name: str, number: int, cpu: int = 8, gpus: int = 0, **more: Any) -> Document:
    return node_document(Shape(cpu=cpu, gpus=gpus, memory="64Gi", **more), name, number, 0.0)


def queue(name: str, weight: int = 1, **spec: Any) -> Document:
    return authoring().queue(name, {"weight": weight, **spec})


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


def pod(name: str, ask: Ask, **annotations: str) -> Document:
    """A pod that names its queue."""
    return plain_pod(name, ask, **{**authoring().naming(ask.queue), **annotations})


def gang(name: str, members: int, ask: Ask, minimum: int | None = None) -> list[Document]:
    """A group and its pods."""
    writing = authoring()
    pods = (plain_pod(f"{name}-{number}", ask, **writing.joining(name)) for number in range(members))
    return [writing.group(name, members if minimum is None else minimum, ask), *pods]


def batch_job(name: str, pods: int, ask: Ask) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"completions": pods, "parallelism": pods, "template": template(ask)},
    }


# --- draws -------------------------------------------------------------------------------


class _Wishes:
    """A draw as the workloads of dialects know it."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng

    def whole(self, low: int, high: int) -> int:
        return self._rng.whole(low, high)

    def chance(self, likely: float) -> bool:
        return self._rng.chance(likely)

    def pick(self, some: Sequence[T]) -> T:
        return self._rng.pick(some)

    def ask(self) -> Ask:
        return some_ask(self._rng)


def some_ask(rng: Rng) -> Ask:
    """Any wishes that small nodes can meet; some of them would rather be near or far from others."""
    spec: Document = {}
    app = rng.pick(("red", "green", "blue"))
    if rng.chance(0.15):
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": term}]}
        spec["affinity"] = {rng.pick(("podAffinity", "podAntiAffinity")): preferred}
    elif rng.chance(0.15):
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    cpu, gpus = rng.whole(1, 3), rng.pick((0, 0, 1, 2))
    seconds = rng.pick((5.0, 20.0, 35.0, 50.0, None))
    scheduler = rng.pick((TAKING, PEACEFUL))
    queue = rng.pick((DEFAULT_QUEUE, "research", "limited"))
    return Ask(
        cpu=cpu,
        gpus=gpus,
        seconds=seconds,
        scheduler=scheduler,
        queue=queue,
        naming=authoring().naming(queue),
        priority=rng.pick(("", "low", "middle", "high")),
        spec=spec,
        labels={"app": app},
    )


def _lone(rng: Wishes, name: str) -> list[Document]:
    return [pod(name, rng.ask())]


def _batch_job(rng: Wishes, name: str) -> list[Document]:
    return [batch_job(name, rng.whole(1, 3), rng.ask())]


def workloads() -> dict[str, Workload]:
    """Every kind of workload, by name."""
    dialects = {name: each for dialect in speaking() for name, each in dialect.workloads.items()}
    return {"pod": Workload(_lone), **dialects, "job": Workload(_batch_job)}


def some_nodes(rng: Rng, count: int) -> list[Document]:
    return [
        node(f"node-{number}", number, cpu=rng.pick((4, 8)), gpus=rng.pick((0, 4, 8))) for number in range(count)
    ]


def surroundings() -> list[Document]:
    """What workloads refer to."""
    return [*priority_classes(), *(document for each in speaking() for document in each.surroundings)]


def some_workloads(rng: Rng, count: int, *, gangs: bool = False) -> list[list[Document]]:
    """So many workloads of any kind, or of those whose pods start together."""
    kinds = {name: each for name, each in workloads().items() if each.gang or not gangs}
    names, wishes = tuple(kinds), _Wishes(rng)
    found = []
    for number in range(count):
        kind = rng.pick(names)
        found.append(kinds[kind].make(wishes, f"{kind}-{number}"))
    return found
