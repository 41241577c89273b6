"""What would help where nodes are the matter: taints, labels, closed nodes, more of them, and room on them."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count, islice

import numpy as np

from podium.amounts import counted
from podium.core.model.labels import Taint, all_hold, tolerates
from podium.core.model.model import HOLDING, Task
from podium.core.model.resources import PODS as POD_COLUMN
from podium.dialects.kubernetes.quantities import format_amount, read_amounts
from podium.explain.documents import Document
from podium.explain.model import Model
from podium.explain.proposals import (
    Ladder,
    Proposal,
    choosing,
    commands_of,
    listed,
    nodes_ladder,
)
from podium.explain.room import by_capacity, capacity, going, leaving
from podium.kube.changes import Create, Delete
from podium.kube.resources import NODES, PODS
from podium.numbers import TaintKey
from podium.reasons import CORDONED, DEVICE_MODEL, SELECTOR, TAINT, Refusal

_SYSTEM = "node.kubernetes.io/"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
# The mark of a node that podium plays, and what such a node says that runs its containers.
_SIMULATED, _PLAYED = "podium.dev/simulated", "podium://simulated"
_MOST_PLACES = 64


def node_ladders(
    model: Model, tasks: Sequence[Task], missing: int, causes: Collection[Refusal], matching: Sequence[int]
) -> Iterator[Ladder]:
    """Everything about nodes that may help tasks that find no place; rows in `matching` lack nothing but room."""
    task = tasks[0]
    reasons = {cause.reason for cause in causes}
    for cause in causes:
        if cause.reason is TAINT and isinstance(cause.numbers, TaintKey):
            yield from _untaint(model, task, cause.numbers)
    if CORDONED in reasons:
        yield from _uncordon(model, task)
    if SELECTOR in reasons:
        yield from _label(model, task)
    yield from _force_out(model)
    yield from _free(model, tasks, missing, matching)
    yield from _add_nodes(model, tasks, missing, with_models=DEVICE_MODEL in reasons)


def _rows(model: Model) -> list[int]:
    nodes = model.cluster.nodes
    return [row for row in nodes.rows.values() if nodes.live[row]]


# --- taints, labels, closed nodes ------------------------------------------------------------------------------


def _untaint(model: Model, task: Task, wanted: TaintKey) -> Iterator[Ladder]:
    if wanted.key.startswith(_SYSTEM):
        return  # whoever has set it would set it again

    def concerned(taint: Taint) -> bool:
        return (
            taint.key == wanted.key
            and taint.value == wanted.value
            and taint.effect in ("NoSchedule", "NoExecute")
            and not tolerates(task.cls.constraints.tolerations, taint)
        )

    facts = model.cluster.nodes.facts
    rows = [row for row in _rows(model) if any(map(concerned, facts[row].taints))]  # type: ignore[union-attr]
    effects = {t.effect for row in rows for t in facts[row].taints if concerned(t)}  # type: ignore[union-attr]

    def patch(node: Document) -> Document:
        kept = [
            each
            for each in node["spec"].get("taints") or ()
            if not concerned(Taint(each["key"], each["effect"], each.get("value", "")))
        ]
        return {"spec": {"taints": kept or None}}

    taint = wanted.key + (f"={wanted.value}" if wanted.value else "")
    gone = [f"{wanted.key}:{effect}-" for effect in sorted(effects)]
    if rows:
        yield nodes_ladder(
            model,
            f"untaint {taint}",
            by_capacity(model, task.cls, rows),
            patch,
            lambda names: f"remove the taint {taint} from {listed(names)}",
            lambda names: shlex.join(["kubectl", "taint", "nodes", *names, *gone]),
        )


def _uncordon(model: Model, task: Task) -> Iterator[Ladder]:
    facts = model.cluster.nodes.facts
    rows = [row for row in _rows(model) if facts[row].unschedulable]  # type: ignore[union-attr]

    def patch(node: Document) -> Document:
        kept = [each for each in node["spec"].get("taints") or () if each["key"] != _UNSCHEDULABLE]
        return {"spec": {"unschedulable": None, "taints": kept or None}}

    if rows:
        yield nodes_ladder(
            model,
            "uncordon",
            by_capacity(model, task.cls, rows),
            patch,
            lambda names: f"open {listed(names)} for new pods",
            lambda names: shlex.join(["kubectl", "uncordon", *names]),
        )


def _wanted_labels(task: Task) -> dict[str, str] | None:
    """The labels that a node must have for a task, where labels can do it."""
    constraints = task.cls.constraints
    labels = dict(constraints.selector)
    if constraints.required is not None:
        term = next((each for each in constraints.required if not each.names), None)
        if term is None:
            return None
        for each in term.labels:
            if each.operator == "In" and each.values:
                if labels.get(each.key) not in each.values:
                    labels[each.key] = each.values[0]
            elif each.operator == "Exists":
                labels.setdefault(each.key, "true")
            elif each.operator == "Gt" and each.values and each.values[0].lstrip("-").isdigit():
                labels[each.key] = str(int(each.values[0]) + 1)
            elif each.operator == "Lt" and each.values and each.values[0].lstrip("-").isdigit():
                labels[each.key] = str(int(each.values[0]) - 1)
            elif each.operator in ("NotIn", "DoesNotExist"):
                continue
            else:
                return None
    return labels


def _matches(task: Task, labels: dict[str, str]) -> bool:
    constraints = task.cls.constraints
    if any(labels.get(key) != value for key, value in constraints.selector):
        return False
    terms = constraints.required
    return terms is None or any(not each.names and all_hold(each.labels, labels) for each in terms)


def _label(model: Model, task: Task) -> Iterator[Ladder]:
    wanted = _wanted_labels(task)
    facts = model.cluster.nodes.facts
    if not wanted:
        return
    rows = []
    for row in _rows(model):
        labels = dict(facts[row].labels)  # type: ignore[union-attr]
        if not _matches(task, labels) and _matches(task, labels | wanted):
            rows.append(row)
    if "kubernetes.io/hostname" in wanted or not rows:
        return
    pairs = [f"{key}={value}" for key, value in wanted.items()]
    yield nodes_ladder(
        model,
        f"label {' '.join(pairs)}",
        by_capacity(model, task.cls, rows),
        lambda node: {"metadata": {"labels": dict(wanted)}},
        lambda names: f"label {listed(names)} with {' '.join(pairs)}, if that is true of it",
        lambda names: shlex.join(["kubectl", "label", "nodes", *names, *pairs, "--overwrite"]),
        f"{len(rows)} of {len(model.cluster.nodes)} nodes lack {' '.join(pairs)}",
    )


# --- room ------------------------------------------------------------------------------------------------------


def _force_out(model: Model) -> Iterator[Ladder]:
    """Pods that are on their way out, and take their time."""
    tasks = sorted(going(model), key=lambda task: task.name)
    if not tasks:
        return
    where = {
        f"{task.namespace}/{task.name}": model.cluster.nodes.name(task.row) for task in tasks if task.row >= 0
    }

    def pick(pods: Sequence[str]) -> Proposal:
        commands, changes = [], []
        for pod in pods:
            namespace, _, name = pod.partition("/")
            document = model.document(PODS, namespace, name) or {}
            if document.get("metadata", {}).get("finalizers"):
                words = ["kubectl", "patch", "pod", name, "-n", namespace, "--type=merge"]
                commands.append(shlex.join([*words, "-p", '{"metadata":{"finalizers":null}}']))
            gone = Delete(PODS, namespace, name)
            commands += [f"{command} --grace-period=0 --force" for command in commands_of([gone])]
            changes.append(gone)
        ends, those = ("is", "it") if len(pods) == 1 else ("are", "them")
        sentence = f"wait until {listed(pods)} {ends} gone, or end {those} now"
        on = listed(list(dict.fromkeys(where[pod] for pod in pods)))
        cause = f"{listed(pods)} {ends} still ending on {on}"
        return Proposal("force out", len(pods), sentence, tuple(commands), tuple(changes), cause, tuple(pods))

    yield choosing("force out", list(where), pick, room=True)


def _free(model: Model, tasks: Sequence[Task], missing: int, matching: Sequence[int]) -> Iterator[Ladder]:
    """Pods whose end makes room, on rows that match."""
    task = tasks[0]
    gangs = {each.gang.id for each in tasks}
    places = min(_MOST_PLACES, max(1, missing) + 4)
    room = capacity(model, task.cls, empty=True)
    rows = [row for row in matching if room[row]]
    sets = leaving(model, task.cls, rows, gangs, places)
    # By name: tasks are made anew when their pods are.
    node = model.cluster.nodes.name
    where = {f"{each.namespace}/{each.name}": node(each.row) for found in sets for each in found}
    named = [[f"{each.namespace}/{each.name}" for each in found] for found in sets if found]
    if not named:
        return

    def pick(pods: Sequence[str]) -> Proposal:
        return ending(pods, where)

    others = (
        each
        for row in rows
        for each in model.cluster.on_row.get(row, {}).values()
        if each.state in HOLDING and each.gang.id not in gangs and not each.protected and each.has_pod
    )
    for each in others:
        where.setdefault(f"{each.namespace}/{each.name}", node(each.row))
    yield Ladder("free", len(named), lambda size: pick(named[size - 1]), among=tuple(where), pick=pick, room=True)


def ending(pods: Sequence[str], where: Mapping[str, str]) -> Proposal:
    """Pods, as namespace/name, that make room by their end; and the node of each."""
    by_namespace: dict[str, list[str]] = {}
    for pod in pods:
        namespace, _, name = pod.partition("/")
        by_namespace.setdefault(namespace, []).append(name)
    nodes = sorted({where[pod] for pod in pods})
    have, those = ("has", "it") if len(pods) == 1 else ("have", "them")
    ended = f"wait until {counted(len(pods), 'pod')} on {listed(nodes)} {have} ended"
    sentence = f"{ended}, or delete {those}: {listed(pods)}"
    changes = tuple(Delete(PODS, namespace, name) for namespace, names in by_namespace.items() for name in names)
    return Proposal("free", len(pods), sentence, commands_of(changes), changes, chosen=tuple(pods))


def _add_nodes(model: Model, tasks: Sequence[Task], missing: int, *, with_models: bool) -> Iterator[Ladder]:
    task = tasks[0]
    found = _model_node(model, task)
    if found is None:
        return
    like, document = found
    names = model.cluster.dimensions.names
    for cls in {each.cls for each in tasks}:
        room = document["status"]["allocatable"]
        for column, amount in cls.request.pairs:
            have = _amount(names[column], room.get(names[column], "0"))
            if have < amount:
                room[names[column]] = format_amount(names[column], amount)
    if with_models and task.cls.constraints.devices is not None:
        document["metadata"]["labels"]["podium.dev/gpu-model"] = task.cls.constraints.devices.models[0]
    document["status"]["capacity"] = dict(document["status"]["allocatable"])
    asked = [names[column] for column, _ in sorted(task.cls.request.pairs) if column != POD_COLUMN]
    most = min(_MOST_PLACES, max(1, missing) + 4)
    yield Ladder(
        "add nodes",
        most,
        lambda size: more_nodes(model, like, document, asked, size),
        hint=1,
        costly=True,
        room=True,
    )


def more_nodes(model: Model, like: str, document: Document, asked: Sequence[str], size: int) -> Proposal:
    """So many more nodes of the kind of one; `asked` are the resources for which it is.

    A command is given where podium plays the nodes.  Elsewhere a Node object without a machine would only draw
    pods that nobody runs.
    """
    offered = document["status"]["allocatable"]
    shown = [f"{offered[name]} {name}" for name in asked]
    changes = []
    names = (f"{like}-more-{number}" for number in count(1))
    for name in islice((name for name in names if model.document(NODES, "", name) is None), size):
        node = copy.deepcopy(document)
        node["metadata"]["name"] = node["metadata"]["labels"]["kubernetes.io/hostname"] = name
        changes.append(Create(NODES, "", node))
    return Proposal(
        "add nodes",
        size,
        f"add {counted(size, 'node')} like {like}, with {', '.join(shown)}",
        commands_of(changes) if _SIMULATED in document["metadata"]["annotations"] else (),
        tuple(changes),
    )


def _model_node(model: Model, task: Task) -> tuple[str, Document] | None:
    """A node that would take the task, if it were new: made after the one that comes closest."""
    nodes = model.cluster.nodes
    rows = _rows(model)
    if not rows:
        return None
    room = capacity(model, task.cls, empty=True)
    wanted = _wanted_labels(task)
    if wanted is None:
        return None

    def distance(row: int) -> tuple[bool, bool, int, str]:
        facts = nodes.facts[row]
        assert facts is not None
        return not _matches(task, dict(facts.labels)), not bool(room[row]), -int(room[row]), facts.name

    row = min(rows, key=distance)
    made = like_node(model, row)
    if made is None:
        return None
    made["metadata"]["labels"] |= wanted
    made["spec"]["taints"] = [
        each
        for each in made["spec"]["taints"]
        if tolerates(task.cls.constraints.tolerations, Taint(each["key"], each["effect"], each.get("value", "")))
    ]
    return nodes.name(row), made


def like_node(model: Model, row: int) -> Document | None:
    """A new node of the kind of one that is there, without its name."""
    document = model.document(NODES, "", model.cluster.nodes.name(row))
    if document is None:
        return None
    status = document.get("status") or {}
    simulated = (status.get("nodeInfo") or {}).get("containerRuntimeVersion") == _PLAYED
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "",
            "labels": dict(document["metadata"].get("labels") or {}),
            "annotations": {_SIMULATED: "true"} if simulated else {},
        },
        "spec": {"taints": list((document.get("spec") or {}).get("taints") or ())},
        "status": {
            "allocatable": dict(status.get("allocatable") or status.get("capacity") or {}),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def _amount(name: str, quantity: str) -> int:

    good, _ = read_amounts({name: quantity}, "")
    return int(np.int64(good.get(name, 0)))
