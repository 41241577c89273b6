"""The conditions of pods and nodes: what they should say, and the patch from what they say.

A patch names only the conditions that change and only their changed parts, so it fits a strategic merge by type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from podium.embedded.nodes import containers
from podium.kube.times import format_time
from podium.kube.wire import Condition, ContainerStatus, Pod, condition

Document = dict[str, Any]

ANNOTATIONS_READ = "podium.dev/AnnotationsRead"


class Wanted(msgspec.Struct, frozen=True):
    """What a condition should say."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


def condition_patches(observed: list[Condition] | None, wanted: Iterable[Wanted], now: float) -> list[Document]:
    """The entries of a strategic merge patch that lead from `observed` to `wanted`."""
    patches: list[Document] = []
    for each in wanted:
        old = condition(observed, each.type)
        if old is not None and (old.status, old.reason, old.message) == (each.status, each.reason, each.message):
            continue
        patch: Document = {"type": each.type, "status": each.status}
        if old is None or old.status != each.status:
            patch["lastTransitionTime"] = format_time(now)
        for field, new_text, old_text in (
            ("reason", each.reason, old.reason if old else ""),
            ("message", each.message, old.message if old else ""),
        ):
            if new_text != old_text:
                patch[field] = new_text or None  # null takes a field out
        patches.append(patch)
    return patches


def wanted_conditions(
    pod: Pod, main: Sequence[ContainerStatus], init: Sequence[ContainerStatus], phase: str, complaint: str
) -> list[Wanted]:
    """What a kubelet says of a pod in `phase` with these containers."""
    ready = _containers_ready(pod, main, init, phase)
    found = [
        Wanted("PodReadyToStartContainers", "True" if phase == "Running" else "False"),
        _initialized(init, phase),
        Wanted("Ready", ready.status, ready.reason, ready.message) if ready.status == "False" else _gates(pod),
        ready,
    ]
    if condition(pod.status.conditions, "PodScheduled") is None:
        found.append(Wanted("PodScheduled", "True"))
    if complaint:
        found.append(Wanted(ANNOTATIONS_READ, "False", "InvalidValue", complaint))
    elif condition(pod.status.conditions, ANNOTATIONS_READ) is not None:
        found.append(Wanted(ANNOTATIONS_READ, "True"))
    return found


def _initialized(init: Sequence[ContainerStatus], phase: str) -> Wanted:
    if phase == "Succeeded":
        return Wanted("Initialized", "True", "PodCompleted")
    waiting = [status.name for status in init if not containers.has_run(status)]
    if waiting:
        reported = f"containers with incomplete status: [{' '.join(waiting)}]"
        return Wanted("Initialized", "False", "ContainersNotInitialized", reported)
    return Wanted("Initialized", "True")


def _containers_ready(
    pod: Pod, main: Sequence[ContainerStatus], init: Sequence[ContainerStatus], phase: str
) -> Wanted:
    if phase == "Succeeded":
        return Wanted("ContainersReady", "False", "PodCompleted")
    if phase == "Failed":
        return Wanted("ContainersReady", "False", "PodFailed")
    sidecars = {c.name for c in pod.spec.init_containers or () if containers.is_sidecar(c)}
    unready = [status.name for status in init if status.name in sidecars and not status.ready]
    unready += [status.name for status in main if not status.ready]
    if unready:
        reported = f"containers with unready status: [{' '.join(unready)}]"
        return Wanted("ContainersReady", "False", "ContainersNotReady", reported)
    return Wanted("ContainersReady", "True")


def _gates(pod: Pod) -> Wanted:
    """Ready, as far as others are asked for it: the pod's readiness gates."""
    closed: list[str] = []
    for gate in pod.spec.readiness_gates or ():
        name = str(gate.get("conditionType", ""))
        found = condition(pod.status.conditions, name)
        if found is None:
            closed.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif found.status != "True":
            closed.append(f'the status of pod readiness gate "{name}" is not "True", but {found.status}')
    if closed:
        return Wanted("Ready", "False", "ReadinessGatesNotReady", ", ".join(closed))
    return Wanted("Ready", "True")
