"""Pods.  One word has to stand for the state of a pod whose containers may each be in another.

The rule: the first thing that holds the pod up is the word.  While init containers run it is their progress;
then it is what the first container in the list waits for or ended with; a pod with a ready container beside
completed ones is running; and a pod under deletion is terminating whatever its containers say.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.embedded.printers.cells import (
    AGE,
    NAME,
    NONE,
    Document,
    Heading,
    Printer,
    age,
    deleting,
    human_duration,
    items,
    name_of,
    part,
    true_conditions,
    wide,
)
from podium.kube.times import parse_time

_LOST = "NodeLost"  # the reason a node controller gives pods of a node that is out of reach
_FINISHED = {"Succeeded": "The pod ran to its end", "Failed": "The pod failed"}


class _Progress(msgspec.Struct):
    """What has been read off container statuses so far."""

    word: str
    ready: int = 0
    restarts: int = 0
    restarted_at: float = 0.0
    initialising: bool = False

    def count_restarts(self, container: Document) -> None:
        self.restarts += container.get("restartCount", 0)
        ended = part(container, "lastState", "terminated").get("finishedAt")
        self.restarted_at = max(self.restarted_at, parse_time(ended))


def pod_cells(pod: Document, now: float) -> list[Any]:
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = {c["name"] for c in items(spec, "initContainers") if c.get("restartPolicy") == "Always"}
    progress = _initialisation(spec, status, sidecars)
    if not progress.initialising or "Initialized" in true_conditions(status):
        _containers(status, sidecars, progress)
    ips = items(status, "podIPs")
    return [
        name_of(pod),
        f"{progress.ready}/{len(items(spec, 'containers')) + len(sidecars)}",
        _deletion_word(pod, status) or progress.word,
        _restarts_text(progress, now),
        age(pod, now),
        (ips[0].get("ip") if ips else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates_text(spec, status),
    ]


def _first_word(status: Document) -> str:
    for condition in items(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase") or "")


def _deletion_word(pod: Document, status: Document) -> str:
    if not deleting(pod):
        return ""
    if status.get("reason") == _LOST:
        return "Unknown"
    return "" if status.get("phase") in _FINISHED else "Terminating"


def _initialisation(spec: Document, status: Document, sidecars: set[str]) -> _Progress:
    """Goes through the init containers, in order, up to the first one that is not done."""
    progress = _Progress(_first_word(status))
    for index, container in enumerate(items(status, "initContainerStatuses")):
        progress.count_restarts(container)
        state = part(container, "state")
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if container["name"] in sidecars and container.get("started"):
            progress.ready += bool(container.get("ready"))
            continue
        waits_for = part(state, "waiting").get("reason", "")
        if ended is not None:
            progress.word = f"Init:{_end_word(ended)}"
        elif waits_for and waits_for != "PodInitializing":
            progress.word = f"Init:{waits_for}"
        else:
            progress.word = f"Init:{index}/{len(items(spec, 'initContainers'))}"
        progress.initialising = True
        break
    return progress


def _containers(status: Document, sidecars: set[str], progress: _Progress) -> None:
    """Goes through the containers from the last to the first, so that the first one has the last word."""
    # Restarts of init containers that are done no longer matter; those of sidecars do.
    progress.restarts, progress.restarted_at = 0, 0.0
    for container in items(status, "initContainerStatuses"):
        if container["name"] in sidecars:
            progress.count_restarts(container)
    failure, running = "", False
    for container in reversed(items(status, "containerStatuses")):
        progress.count_restarts(container)
        state = part(container, "state")
        waits_for = part(state, "waiting").get("reason")
        ended = state.get("terminated")
        if waits_for:
            progress.word = waits_for
        elif ended is not None:
            progress.word = _end_word(ended)
            if ended.get("exitCode", 0) != 0:
                failure = progress.word
        elif container.get("ready") and state.get("running") is not None:
            running = True
            progress.ready += 1
    if progress.word != "Completed":
        return
    if running and "Ready" in true_conditions(status):
        progress.word = "Running"
    elif failure:
        progress.word = failure
    elif running:
        progress.word = "NotReady"


def _end_word(ended: Document) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _restarts_text(progress: _Progress, now: float) -> str:
    if not progress.restarts or not progress.restarted_at:
        return str(progress.restarts)
    return f"{progress.restarts} ({human_duration(now - progress.restarted_at)} ago)"


def _gates_text(spec: Document, status: Document) -> str:
    gates = items(spec, "readinessGates")
    if not gates:
        return NONE
    true = true_conditions(status)
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


def pod_conditions(pod: Document) -> list[Document]:
    phase = part(pod, "status").get("phase", "")
    if phase not in _FINISHED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _FINISHED[phase]}]


POD = Printer(
    (
        NAME,
        Heading("Ready", "How many of the pod's containers are ready"),
        Heading("Status", "The state of the pod in one word"),
        Heading("Restarts", "How often containers were restarted, and when last"),
        AGE,
        wide("IP", "The pod's address"),
        wide("Node", "The node the pod is bound to"),
        wide("Nominated Node", "The node on which room is being made for the pod"),
        wide("Readiness Gates", "How many of the pod's readiness gates are passed"),
    ),
    pod_cells,
    pod_conditions,
)
