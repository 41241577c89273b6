"""How a workload stands: done, failed or going on, and a sentence about it."""

from __future__ import annotations

from collections.abc import Mapping

from podium.dialects import speaking
from podium.dialects.dialect import Progress, State
from podium.kube.changes import Document
from podium.kube.resources import DEPLOYMENTS, JOBS, PODS, Resource


def progress_of(resource: Resource, document: Document, phases: Mapping[str, int]) -> Progress:
    """A workload's state, given its pods counted by phase."""
    spec, status = document.get("spec", {}), document.get("status", {})
    if resource == PODS:
        phase = status.get("phase", "Pending")
        ends = {"Succeeded": State.DONE, "Failed": State.FAILED}
        return Progress(ends.get(phase, State.GOING), phase)
    if resource == JOBS:
        conditions = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
        state = State.DONE if "Complete" in conditions else State.FAILED if "Failed" in conditions else State.GOING
        count = spec.get("completions") or 1
        running = phases.get("Running", 0)
        return Progress(state, f"{status.get('succeeded', 0)} of {count} tasks succeeded, {running} running")
    if resource == DEPLOYMENTS:
        available, count = status.get("availableReplicas", 0), spec.get("replicas", 1)
        current = status.get("observedGeneration") == document["metadata"].get("generation")
        state = State.DONE if current and available == count else State.GOING
        return Progress(state, f"{available} of {count} replicas available")
    return _in_its_dialect(resource, document, phases) or Progress(State.DONE, "created")


def own_words(resource: Resource, document: Document) -> str:
    """What a job of a dialect says of itself while it has no pods: that it was held, for one; "" for others."""
    found = _in_its_dialect(resource, document, {})
    return found.message if found is not None and document.get("status") else ""


def _in_its_dialect(resource: Resource, document: Document, phases: Mapping[str, int]) -> Progress | None:
    for dialect in speaking():
        if resource in dialect.progress:
            return dialect.progress[resource](document, phases)
    return None
