"""A scenario's table as the objects of a cluster, and what came out of it as objects show it.

The tables of `tests/core/scenarios` speak of tasks, gangs and queues, users of pods, PodGroups and Queues.  Here
each row becomes the object that says the same, in the order in which the table has them.  Times of a table count
from its own zero, so a caller says which moment on the clock that is.

What came out is read from objects alone, too: where pods are, who was told to go, which node was promised, how far
groups have come, and, since conditions and events carry sentences, which reason was told to whom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

import msgspec

from podium import queue_reasons, reasons
from podium.core.model.model import Phase
from podium.dialects.volcano.names import GROUP_NAME, NAMESPACE_WEIGHT, PODGROUPS, PREEMPTABLE, QUEUES, TASK_SPEC
from podium.kube.resources import NODES, PODS, PRIORITYCLASSES, RESOURCEQUOTAS, Resource
from podium.kube.times import format_time
from podium.reasons import Reason
from tests.core.scenario import NAMESPACE, Outcome, room_of, tasks_of

Document = dict[str, Any]
Table = Mapping[str, Any]

SCHEDULER = "volcano"

# How a pod says what state it is in; pending is silence.
_POD_PHASES = {"running": "Running", "releasing": "Running", "succeeded": "Succeeded", "failed": "Failed"}
_QUEUE_FIELDS = ("parent", "weight", "priority", "reclaimable", "deserved", "capability")


class Put(msgspec.Struct, frozen=True):
    """An object to be shown or created."""

    resource: Resource
    document: Document

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.document["metadata"].get("namespace", ""))


def objects_of(table: Table, zero: float) -> Iterator[Put]:
    """All objects of a table, each after those that it names; `zero` is the moment from which its times count."""
    for name, node in (table.get("nodes") or {}).items():
        yield _put(NODES, name, labels=node.get("labels"), status=_node_status(node))
    gangs = table.get("gangs") or {}
    yield from _priority_classes(gangs)
    for name, weight in (table.get("namespaces") or {}).items():
        yield _put(RESOURCEQUOTAS, name, name, spec={"hard": {NAMESPACE_WEIGHT: str(weight)}})
    for name, queue in (table.get("queues") or {}).items():
        yield _queue(name, queue, zero)
    pods = 0
    for name, gang in gangs.items():
        yield _group(name, gang, zero)
        for task, given in tasks_of(name, gang).items():
            yield _pod(task, name, gang.get("namespace", NAMESPACE), given, zero + pods)
            pods += 1


def _put(
    resource: Resource,
    name: str,
    namespace: str = "",
    *,
    created: float | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **parts: Any,
) -> Put:
    metadata: Document = {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    if namespace:
        metadata["namespace"] = namespace
    if created is not None:
        metadata["creationTimestamp"] = format_time(created)
    return Put(
        resource, {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **parts}
    )


def _quantities(amounts: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _node_status(node: Table) -> Document:
    room = _quantities(room_of(node))
    return {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}


def _priority_classes(gangs: Table) -> Iterator[Put]:
    """Groups name classes, and a server takes a pod's number from its class, too."""
    classes: dict[str, Document] = {}
    for name, gang in gangs.items():
        priority = gang.get("priority", 0)
        classes[_class_of(priority)] = {"value": priority}
        for task in tasks_of(name, gang).values():
            if not task.get("protected"):  # such classes are there
                classes[_pod_class(task)] = {"value": task.get("priority", 1), **_policy(task)}
    for name, parts in classes.items():
        yield _put(PRIORITYCLASSES, name, **parts)


def _class_of(priority: int) -> str:
    return f"priority-{priority}"


def _policy(task: Table) -> Document:
    return {} if task.get("preempts", True) else {"preemptionPolicy": "Never"}


def _pod_class(task: Table) -> str:
    if task.get("protected"):
        return "system-cluster-critical"
    name = _class_of(task.get("priority", 1))
    return name if task.get("preempts", True) else f"{name}-never"


def _queue(name: str, given: Table, zero: float) -> Put:
    spec = {field: given[field] for field in _QUEUE_FIELDS if field in given}
    for field in ("deserved", "capability"):
        if field in spec:
            spec[field] = _quantities(spec[field])
    if "guarantee" in given:
        spec["guarantee"] = {"resource": _quantities(given["guarantee"])}
    if given.get("fifo"):
        spec["dequeueStrategy"] = "fifo"
    state = "Open" if given.get("open", True) else "Closed"
    annotations = given.get("attributes")
    return _put(QUEUES, name, created=zero, annotations=annotations, spec=spec, status={"state": state})


def _group(name: str, gang: Table, zero: float) -> Put:
    spec: Document = {
        "minMember": gang.get("min", 1),
        "queue": gang["queue"],
        "priorityClassName": _class_of(gang.get("priority", 0)),
    }
    if gang.get("roles"):
        spec["minTaskMember"] = gang["roles"]
    if gang.get("needs") is not None:
        spec["minResources"] = _quantities(gang["needs"])
    return _put(
        PODGROUPS,
        name,
        gang.get("namespace", NAMESPACE),
        created=zero + gang.get("created", 0),
        annotations=gang.get("attributes"),
        spec=spec,
        status={"phase": gang.get("phase", "inqueue").capitalize()},
    )


def _pod(name: str, gang: str, namespace: str, task: Table, created: float) -> Put:
    requests = _quantities(task.get("ask") or {})
    # Of what nodes do not know how to share out, a pod gets all that it asks for.
    limits = {each: amount for each, amount in requests.items() if "/" in each}
    container = {"name": "main", "image": "app:1", "resources": {"requests": requests, "limits": limits}}
    spec: Document = {
        "schedulerName": SCHEDULER,
        "containers": [container],
        "priority": task.get("priority", 1),
        "priorityClassName": _pod_class(task),
        **_policy(task),
    }
    if "at" in task:
        spec["nodeName"] = task["at"]
    if task.get("gated"):
        spec["schedulingGates"] = [{"name": "example.com/later"}]
    if "selector" in task:
        spec["nodeSelector"] = task["selector"]
    if "apart" in task:
        spec["affinity"] = {"podAntiAffinity": _apart(task["apart"])}
    annotations = {GROUP_NAME: gang}
    if "role" in task:
        annotations[TASK_SPEC] = task["role"]
    labels = {**task.get("labels", {})}
    if not task.get("preemptable", True):
        labels[PREEMPTABLE] = "false"
    put = _put(
        PODS,
        name,
        namespace,
        created=created,
        labels=labels,
        annotations=annotations,
        spec=spec,
        status=_pod_status(task, created),
    )
    if task.get("state") == "releasing":
        put.document["metadata"]["deletionTimestamp"] = format_time(created)
    return put


def _apart(reported: Table) -> Document:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": labels}} for key, labels in reported.items()]
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _pod_status(task: Table, created: float) -> Document:
    """A bind that is on its way is to everybody but its sender a pod with a node, or one without."""
    state = task.get("state", "running" if "at" in task else "pending")
    status: Document = {"phase": _POD_PHASES.get(state, "Pending")}
    if state in _POD_PHASES:
        status["startTime"] = format_time(created)
    if "nominated" in task:
        status["nominatedNodeName"] = task["nominated"]
    return status


# --- what came out -----------------------------------------------------------------------------------------


def outcome_of(
    before: Iterable[Put], after: Mapping[tuple[Resource, str], Document], events: Sequence[Document]
) -> Outcome:
    """What a turn made of some objects, by resource and name, with the events that it left."""
    gangs: dict[str, str] = {}
    placed: dict[str, str] = {}
    evicted: set[str] = set()
    waits: dict[str, list[str]] = {}
    phases: dict[str, Phase] = {}
    reported: dict[str, list[str]] = {}
    for put in before:
        then, now = put.document, after.get((put.resource, put.name))
        if put.resource == PODS:
            gang = gangs[put.name] = then["metadata"]["annotations"][GROUP_NAME]
            if "deletionTimestamp" in then["metadata"]:
                continue
            if now is None or "deletionTimestamp" in now["metadata"]:
                evicted.add(put.name)
                continue
            node, promised = now["spec"].get("nodeName"), now["status"].get("nominatedNodeName")
            if node and node != then["spec"].get("nodeName"):
                placed[put.name] = node
            elif promised and promised != then["status"].get("nominatedNodeName"):
                waits.setdefault(gang, []).append(promised)
            reported.setdefault(gang, []).extend(
                each.get("message", "") for each in now["status"].get("conditions", ())
            )
        elif put.resource == PODGROUPS:
            assert now is not None, put
            phases[put.name] = _phase(then["status"]["phase"], now["status"]["phase"])
    for event in events:
        if event["involvedObject"]["kind"] == PODGROUPS.kind:
            reported.setdefault(event["involvedObject"]["name"], []).append(event["message"])
    return Outcome(
        gangs=gangs,
        placed=placed,
        evicted=evicted,
        waits=waits,
        phases=phases,
        refused={gang: _codes(messages) for gang, messages in reported.items()},
        faults={
            event["involvedObject"]["name"]: event["reason"]
            for event in events
            if event["involvedObject"]["kind"] == QUEUES.kind
        },
    )


def _phase(before: str, now: str) -> Phase:
    """The phase in which a turn left a group.  One that has its places is Running when the turn is told of, and
    was let in during it or before."""
    return Phase.INQUEUE if now == "Running" != before else Phase[now.upper()]


def _codes(messages: Iterable[str]) -> set[str]:
    """The reasons that some messages were written from."""
    return {code for message in messages for code, sentence in _SENTENCES.items() if sentence.fullmatch(message)}


def _pattern(sentence: str) -> re.Pattern[str]:
    """A reason's sentence with anything in place of its facts."""
    fixed = (re.escape(part) for part, *_ in Formatter().parse(sentence))
    return re.compile(".*".join(fixed) + (".*" if sentence.endswith("}") else ""), re.DOTALL)


_REASONS = [*vars(reasons).values(), *vars(queue_reasons).values()]
_SENTENCES = {each.code: _pattern(each.sentence) for each in _REASONS if isinstance(each, Reason)}
