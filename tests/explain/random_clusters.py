"""Clusters in which something is stuck, drawn from a seed; and a check of what is proposed, by brute force.

The check knows nothing of how proposals are found: it writes what they say to the objects, reads these afresh, and
asks the scheduler; and then it does the same with everything that is smaller.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from podium.explain.goal import Goal, try_out
from podium.explain.model import Model
from podium.explain.proposals import Proposal
from podium.explain.search import Remedy
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.resources import NODES, PODS, RESOURCEQUOTAS
from tests.explain.objects import GPU, PODGROUPS, QUEUES, Objects

TAINT = {"key": "team", "value": "blue", "effect": "NoSchedule"}
CAUSES = ("taint", "cordon", "label", "room", "large", "limit", "share", "minimum", "closed", "quota", "gates")
GANG = "asked"


def draw(seed: int) -> tuple[Objects, tuple[str, ...]]:
    """A cluster, and what was drawn to be in the way of the gang `asked`: one thing, or two."""
    dice = random.Random(seed)
    causes = tuple(dice.sample(CAUSES, dice.choice((1, 2))))
    objects = Objects()
    wanted = dice.randint(1, 4)
    size = dice.randint(2, 4) if "minimum" in causes or dice.random() < 0.6 else 1
    names = [f"node-{number}" for number in range(dice.randint(2, 6))]
    for name in names:
        more: dict[str, Any] = {}
        if "taint" in causes and dice.random() < 0.85:
            more["taints"] = [TAINT]
        if "cordon" in causes and dice.random() < 0.85:
            more["unschedulable"] = True
        labels = {"gpu": "h100"} if "label" in causes and dice.random() < 0.15 else {}
        objects.node(name, dice.choice((4, 8)), labels=labels, **more)
    pod: dict[str, Any] = {"gpus": 9 if "large" in causes else wanted}
    if "label" in causes:
        pod["nodeSelector"] = {"gpu": "h100"}
    for name in names:
        free = int(objects.documents[NODES, "", name]["status"]["allocatable"][GPU])
        number = 0
        while free and (dice.random() < (0.97 if "room" in causes else 0.35)):
            gpus = dice.randint(1, min(4, free))
            if "room" not in causes and dice.random() < 0.3:
                break
            objects.pod(f"{name}-run-{number}", gpus, node=name, priority=dice.choice((0, 5)))
            free, number = free - gpus, number + 1
    queue = "default"
    if "limit" in causes:
        queue = "small"
        objects.queue(queue, capability={GPU: str(dice.randint(0, wanted * size))})
    if "share" in causes:
        queue = queue if queue == "small" else "light"
        if queue == "light":
            objects.queue(queue)
        objects.queue("heavy", weight=dice.randint(2, 6))
        objects.gang("other", 40, 1, queue="heavy", gpus=1)
    if "closed" in causes:
        queue = "shut"
        objects.queue(queue, state="Closed")
    group: dict[str, Any] = {}
    if "quota" in causes:
        hard = dice.randint(0, size - 1)
        objects.quota("team", {"requests.cpu": str(hard)}, {"requests.cpu": "0"})
        group["minResources"] = {"cpu": str(size)}
    objects.gang(GANG, size, size, queue=queue, **pod)
    document = objects.documents[PODGROUPS, "default", GANG]
    document["spec"] |= group
    if group:
        document["status"]["phase"] = "Pending"
    if "minimum" in causes:
        document["spec"]["minMember"] = size + dice.randint(1, 2)
    if "gates" in causes:
        for number in range(dice.randint(1, size)):
            objects.documents[PODS, "default", f"{GANG}-{number}"]["spec"]["schedulingGates"] = [{"name": "wait"}]
    return objects, causes


def goal_of(model: Model) -> Goal:
    gang = next(gang for gang in model.cluster.gangs.values() if gang.name == GANG)
    return Goal.of(model, [gang])


def helps(objects: Objects, goal: Goal, changes: Sequence[Change]) -> bool:
    """Whether the gang starts after some writes, read afresh."""
    return try_out(objects.after(changes).model(), goal).reached


def smaller(objects: Objects, remedy: Remedy) -> Iterator[list[Change]]:
    """Everything of the same kinds that is smaller in one of them, or leaves one out."""
    for number, step in enumerate(remedy.steps):
        rest = [
            change for other in (*remedy.steps[:number], *remedy.steps[number + 1 :]) for change in other.changes
        ]
        yield rest
        for less in _smaller_step(objects, step):
            yield [*rest, *less]


def _smaller_step(objects: Objects, step: Proposal) -> Iterator[Sequence[Change]]:
    changes = step.changes
    first = changes[0]
    if isinstance(first, Create):
        yield changes[:-1]
    elif isinstance(first, Delete):
        others = [
            Delete(PODS, "default", name)
            for (resource, _, name), pod in objects.documents.items()
            if resource == PODS and pod["spec"].get("nodeName")
        ]
        if len(changes) <= 3:
            yield from combinations(others, len(changes) - 1)
        else:
            yield from (tuple(each for each in changes if each is not left) for left in changes)
    elif isinstance(first, Patch) and first.resource in (NODES, PODS):
        # The same change to fewer objects, whichever these are.
        alike = [
            Patch(first.resource, namespace, name, first.patch)
            for (resource, namespace, name), document in objects.documents.items()
            if resource == first.resource and _concerned(document, first)
        ]
        yield from combinations(alike, len(changes) - 1)
    elif isinstance(first, Patch):
        yield [_less(objects, first)]


def _concerned(document: dict[str, Any], change: Patch) -> bool:
    spec = document["spec"]
    if change.resource == PODS:
        return bool(spec.get("schedulingGates"))
    if "unschedulable" in change.patch.get("spec", {}):
        return bool(spec.get("unschedulable"))
    if "taints" in change.patch.get("spec", {}):
        return bool(spec.get("taints"))
    return bool(document["metadata"]["labels"].get("gpu") != "h100")


def _less(objects: Objects, change: Patch) -> Patch:
    """One unit less of what a queue, a quota or a group is changed by."""
    patch = change.patch
    if change.resource == PODGROUPS:
        return Patch(
            PODGROUPS, change.namespace, change.name, {"spec": {"minMember": patch["spec"]["minMember"] + 1}}
        )
    spec = patch.get("spec", {})
    if change.resource == RESOURCEQUOTAS:
        [(name, amount)] = spec["hard"].items()
        return Patch(
            RESOURCEQUOTAS, change.namespace, change.name, {"spec": {"hard": {name: _milli(amount) + "m"}}}
        )
    if "weight" in spec:
        return Patch(QUEUES, "", change.name, {"spec": {"weight": spec["weight"] - 1}})
    if "capability" in spec:
        [(name, amount)] = spec["capability"].items()
        less = _milli(amount) + "m" if name == "cpu" else str(int(amount) - 1)
        return Patch(QUEUES, "", change.name, {"spec": {"capability": {name: less}}})
    return Patch(change.resource, change.namespace, change.name, {})  # it is on or off: less is nothing


def _milli(amount: str) -> str:
    thousandths = int(amount[:-1]) if amount.endswith("m") else int(amount) * 1000
    return str(thousandths - 1)
