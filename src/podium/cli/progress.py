"""Following workloads to their end: reading how they stand, and showing it.

On a terminal the picture is a table that changes in place; elsewhere each change is a line of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table

from podium.dialects import speaking
from podium.dialects.dialect import State
from podium.kube.client import Client
from podium.kube.resources import DEPLOYMENTS, JOBS, PODS, REPLICASETS, Resource
from podium.kube.times import parse_time

Document = dict[str, Any]


class Workload(msgspec.Struct, frozen=True):
    """How a workload stands."""

    name: str  # kind/name
    state: State
    message: str


class PodRow(msgspec.Struct, frozen=True):
    """How one of its pods stands."""

    workload: str
    name: str
    node: str
    phase: str
    seconds: float | None  # from start to end


class Picture(msgspec.Struct, frozen=True):
    workloads: tuple[Workload, ...]
    pods: tuple[PodRow, ...]


# --- reading -----------------------------------------------------------------------------------------------


async def observe(client: Client, wanted: Sequence[tuple[Resource, str]]) -> Picture:
    """How the wanted workloads of the default namespace and their pods stand now."""
    namespace = "default"
    pods = await client.list(PODS, namespace)
    sets = {each["metadata"]["uid"]: _owner(each) for each in await client.list(REPLICASETS, namespace)}
    rows = []
    for pod in pods:
        owner = _owner(pod)
        rows.append(_row(sets.get(owner[1], owner)[0], pod))
    workloads = []
    for resource, name in wanted:
        label = f"{resource.kind.lower()}/{name}"
        document = await client.get(resource, namespace, name)
        phases = Counter(row.phase for row in rows if row.workload == label)
        workloads.append(describe(resource, label, document, phases))
    return Picture(tuple(workloads), tuple(sorted(rows, key=lambda row: (row.workload, row.name))))


def describe(resource: Resource, label: str, document: Document, phases: Counter[str]) -> Workload:
    """A workload's state and a sentence about it."""
    spec, status = document.get("spec", {}), document.get("status", {})
    if resource == JOBS:
        conditions = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
        state = State.DONE if "Complete" in conditions else State.FAILED if "Failed" in conditions else State.GOING
        count = spec.get("completions") or 1
        reported = f"{status.get('succeeded', 0)} of {count} tasks succeeded, {phases['Running']} running"
        return Workload(label, state, reported)
    if resource == DEPLOYMENTS:
        available, count = status.get("availableReplicas", 0), spec.get("replicas", 1)
        current = status.get("observedGeneration") == document["metadata"].get("generation")
        state = State.DONE if current and available == count else State.GOING
        return Workload(label, state, f"{available} of {count} replicas available")
    for dialect in speaking():
        if resource in dialect.progress:
            found = dialect.progress[resource](document, phases)
            return Workload(label, found.state, found.message)
    return Workload(label, State.DONE, "created")


def _owner(document: Document) -> tuple[str, str]:
    """The controller of an object as kind/name, and its UID."""
    for owner in document["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind'].lower()}/{owner['name']}", owner["uid"]
    return "", ""


def _row(workload: str, pod: Document) -> PodRow:
    status = pod.get("status", {})
    ends = [
        parse_time(ended.get("finishedAt"))
        for each in status.get("containerStatuses") or ()
        if (ended := each.get("state", {}).get("terminated"))
    ]
    started = parse_time(status.get("startTime"))
    seconds = max(ends) - started if ends and started else None
    node = pod.get("spec", {}).get("nodeName", "")
    return PodRow(workload, pod["metadata"]["name"], node, status.get("phase", "Pending"), seconds)


# --- showing -----------------------------------------------------------------------------------------------


class Display:
    """Shows one picture after the other."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, transient=True) if self._console.is_terminal else None
        self._told: dict[str, Workload] = {}

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, picture: Picture) -> None:
        if self._live is not None:
            self._live.update(_workload_table(picture))
            return
        for workload in picture.workloads:
            if self._told.get(workload.name) != workload:
                self._told[workload.name] = workload
                self._console.print(f"{workload.name}: {workload.message}", soft_wrap=True)

    def summarise(self, picture: Picture) -> None:
        """What ran, where and how long."""
        self._console.print(_pod_table(picture))
        self._console.print()
        self._console.print(_workload_table(picture))


def _workload_table(picture: Picture) -> Table:
    table = Table("WORKLOAD", "STATE", "", box=None, pad_edge=False)
    for workload in picture.workloads:
        table.add_row(workload.name, workload.state.value, workload.message)
    return table


def _pod_table(picture: Picture) -> Table:
    table = Table("WORKLOAD", "POD", "NODE", "PHASE", "TOOK", box=None, pad_edge=False)
    for row in picture.pods:
        took = "" if row.seconds is None else f"{row.seconds:.0f}s"
        table.add_row(row.workload, row.name, row.node, row.phase, took)
    return table
