"""One job or one node in full, for whoever opens it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from podium.core.model.model import Gang, State, Task
from podium.refusal import Refusal
from podium.web import journal
from podium.web.view import View

MEMBERS = 500  # of a job or of a node that are listed
ENTRIES = 100

Document = dict[str, Any]


def job(view: View, number: int) -> Document | None:
    """None if there is no such job (any more)."""
    cluster = view.scheduler.world.cluster
    gang = cluster.find_gang(view.gang_of(number))
    if gang is None:
        return None
    entries = view.scheduler.decision_log.of_gang(gang.id)[-ENTRIES:]
    refusal = view.refusal_of(gang) if gang.counts[State.PENDING] or not gang.tasks else None
    members = sorted(islice(gang.tasks.values(), MEMBERS), key=lambda task: (task.role, task.suffix, task.name))
    return {
        "id": number,
        "gang": gang.id,
        "phase": gang.phase.name.capitalize(),
        "minimum": gang.minimum,
        "minimum_by_role": gang.minimum_by_role,
        "together": list(gang.together),
        "size": [gang.size.least, gang.size.most, gang.size.wanted] if gang.size is not None else None,
        "priority": gang.priority,
        "preemptable": gang.preemptable,
        "why": _refusal(refusal) if refusal is not None else None,
        "asks": _asks(view, gang),
        "members": [_member(view, task) for task in members],
        "more_members": max(0, len(gang.tasks) - MEMBERS),
        "entries": [journal.row(each, number) for each in entries],
    }


def node(view: View, number: int) -> Document | None:
    cluster = view.scheduler.world.cluster
    facts = cluster.nodes.facts[number] if 0 <= number < cluster.nodes.count else None
    if facts is None:
        return None
    tasks = cluster.on_row.get(number, {})
    amounts = []
    for column, name in enumerate(cluster.dimensions.names):
        has = int(cluster.nodes.allocatable[number, column]) if column < cluster.nodes.allocatable.shape[1] else 0
        if has:
            amounts.append([name, int(cluster.nodes.used[number, column]), has])
    return {
        "id": number,
        "name": facts.name,
        "ready": facts.ready,
        "unschedulable": facts.unschedulable,
        "labels": dict(sorted(facts.labels.items())),
        "taints": [f"{taint.key}={taint.value}:{taint.effect}" for taint in facts.taints],
        "queue": facts.queue,
        "amounts": amounts,
        "members": [
            [*_member(view, task), view.number_of(task.gang.id)] for task in islice(tasks.values(), MEMBERS)
        ],
        "more_members": max(0, len(tasks) - MEMBERS),
    }


def _member(view: View, task: Task) -> list[Any]:
    nodes = view.scheduler.world.cluster.nodes
    where = nodes.name(task.row) if task.row >= 0 else ""
    gpus = view.columns.gpus(task.cls.request.pairs)
    return [task.namespace, task.name, task.role, task.state.name.lower(), where, gpus]


def _asks(view: View, gang: Gang) -> list[list[Any]]:
    """What its members ask for, by equal ones: [how many, {resource: amount}]."""
    names = view.scheduler.world.cluster.dimensions.names
    found: dict[int, list[Any]] = {}
    for task in gang.tasks.values():
        pairs = task.cls.request.pairs
        line = found.setdefault(task.cls.number, [0, {names[column]: amount for column, amount in pairs}])
        line[0] += 1
    return list(found.values())[:20]


def _refusal(refusal: Refusal) -> Document:
    return {
        "code": refusal.code,
        "sentence": str(refusal),
        "hint": refusal.reason.hint,
        "others": [
            {"code": each.code, "sentence": str(each), "hint": each.reason.hint} for each in refusal.others
        ],
    }
