"""Workloads as the users of a dialect write them: for fault histories, traces and scenarios.

These have no API of their own.  A dialect gives its workloads as functions of a draw and a name; what a pod of
them wants, where it waits and who places it, the draw says, so that all dialects meet in the same queues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from podium.dialects.kubernetes.devices import GPU
from podium.kube.pod_script import RUN_SECONDS, TERMINATION_SECONDS
from podium.kube.resources import Resource

Document = dict[str, Any]
T = TypeVar("T")

NAMESPACE = "default"
DEFAULT_QUEUE = "default"  # the name of the queue that is there before anybody makes one


class Ask(msgspec.Struct, frozen=True):
    """What each pod of a workload wants and how long it runs; None for as long as it is let."""

    cpu: int = 1
    gpus: int = 0
    seconds: float | None = 30.0
    scheduler: str = "podium"
    queue: str = DEFAULT_QUEUE
    naming: Mapping[str, str] = {}  # the annotations that name the queue, for pods and groups of any API
    priority: str = ""
    spec: Mapping[str, Any] = {}
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    leaving: float = 0.0  # seconds that it takes to stop
    owner: str = ""  # the controller of pods that are not made by one of the cluster's own


class Rng(Protocol):
    """Choices from a seed: the same seed and the same questions give the same answers."""

    def whole(self, low: int, high: int) -> int:
        """A whole number; both ends may come."""

    def chance(self, likely: float) -> bool: ...

    def pick(self, some: Sequence[T]) -> T: ...

    def ask(self) -> Ask:
        """Any wishes that small nodes can meet."""


class Workload(msgspec.Struct, frozen=True):
    """The objects that a user would create, under a name; the first one is what they would delete."""

    make: Callable[[Rng, str], list[Document]]
    gang: bool = False  # whether some of its pods start together


class Authoring(msgspec.Struct, frozen=True):
    """How users of a dialect write queues, and gangs of pods: traces and histories write theirs so."""

    scheduler: str
    queues: Resource
    groups: Resource
    queue: Callable[[str, Mapping[str, Any]], Document]  # a queue: its name, and what its spec says
    group: Callable[[str, int, Ask], Document]  # a group: its name, its minimum, and whose it is
    job: Callable[[str, int, Ask], Document]  # a job: its name, and how many pods it makes that start together
    joining: Callable[[str], Mapping[str, str]]  # the annotations of a pod in the group of this name
    naming: Callable[[str], Mapping[str, str]]  # those of whatever names the queue of this name
    gang_id: Callable[[str, str], str]  # a group's id in the core, from namespace and name


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
    made = template(ask, **annotations)
    made["metadata"] |= {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", **made}
