"""How workloads stand: read from the API, whatever kind they are.

A pod counts for the workload that somebody asked for: the owner of its owner's owner, or the group that it names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podium.dialects import speaking
from podium.dialects.dialect import State
from podium.dialects.kubernetes.membership import Membership, membership_of
from podium.errors import ApiError
from podium.kube.client import Client
from podium.kube.resources import DEPLOYMENTS, JOBS, PODS, REPLICASETS, STATEFULSETS, Resource
from podium.kube.times import parse_time
from podium.kube.wire import Pod

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
# What stands between a workload and its pods.
_BETWEEN = (REPLICASETS, STATEFULSETS, JOBS)


class Workload(msgspec.Struct, frozen=True):
    """How a workload stands."""

    name: str  # kind/name
    state: State
    message: str
    why: str = ""  # what its pods wait for, if they do


class PodRow(msgspec.Struct, frozen=True):
    """How one of its pods stands."""

    workload: str
    name: str
    node: str
    phase: str
    seconds: float | None  # from start to end
    gpus: int = 0
    why: str = ""  # why it has no node, as its condition says


class Picture(msgspec.Struct, frozen=True):
    workloads: tuple[Workload, ...]
    pods: tuple[PodRow, ...]


async def observe(client: Client, wanted: Sequence[tuple[Resource, str]], namespace: str = "default") -> Picture:
    """How the wanted workloads of a namespace, and all of its pods, stand now."""
    pods = await client.list(PODS, namespace)
    owners: dict[str, tuple[str, str]] = {}
    for resource in _BETWEEN:
        for each in await client.list(resource, namespace):
            owners[each["metadata"]["uid"]] = _owner(each)
    rows = [_row(_workload_of(pod, owners), pod) for pod in pods]
    workloads = []
    for resource, name in wanted:
        label = f"{resource.kind.lower()}/{name}"
        try:
            document = await client.get(resource, namespace if resource.namespaced else "", name)
        except ApiError as error:
            if error.code != 404:
                raise
            workloads.append(Workload(label, State.DONE, "gone"))
            continue
        own = [row for row in rows if row.workload == label]
        found = describe(resource, label, document, Counter(row.phase for row in own))
        why = next((row.why for row in own if row.why), "")
        workloads.append(msgspec.structs.replace(found, why=why))
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


def _workload_of(pod: Document, owners: Mapping[str, tuple[str, str]]) -> str:
    """The workload of a pod as kind/name; "" for a pod that is on its own."""
    label, uid = _owner(pod)
    while owners.get(uid, ("", ""))[0]:
        label, uid = owners[uid]
    if label:
        return label
    marks = [dialect.marks for dialect in speaking() if dialect.marks is not None]
    group = membership_of(msgspec.convert(pod, Pod), marks)
    named = isinstance(group, Membership) and not group.awaited
    return f"podgroup/{group.group.partition('/')[2]}" if named and isinstance(group, Membership) else ""


def _owner(document: Document) -> tuple[str, str]:
    """The controller of an object as kind/name, and its UID."""
    for owner in document["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind'].lower()}/{owner['name']}", owner["uid"]
    return "", ""


def _row(workload: str, pod: Document) -> PodRow:
    spec, status = pod.get("spec", {}), pod.get("status", {})
    ends = [
        parse_time(ended.get("finishedAt"))
        for each in status.get("containerStatuses") or ()
        if (ended := each.get("state", {}).get("terminated"))
    ]
    started = parse_time(status.get("startTime"))
    seconds = max(ends) - started if ends and started else None
    asked = [(each.get("resources") or {}).get("requests") or {} for each in spec.get("containers") or ()]
    return PodRow(
        workload,
        pod["metadata"]["name"],
        spec.get("nodeName", ""),
        status.get("phase", "Pending"),
        seconds,
        gpus=sum(int(each.get(GPU, 0)) for each in asked),
        why=next((c.get("message", "") for c in status.get("conditions") or () if _waits(c)), ""),
    )


def _waits(condition: Document) -> bool:
    return bool(condition.get("type") == "PodScheduled" and condition.get("status") == "False")
