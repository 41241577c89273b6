"""What the scheduler knows, as plain data: for whoever has to find out why it does what it does.

It holds names, amounts and states, and nothing of what pods carry: no environment, no annotations, no secrets.  It
comes in portions, so that nobody else has to wait for all of it; what changes between two of them shows half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.core.model.model import Gang, Task
from podium.engine.scheduler import Scheduler
from podium.engine.world import World

Document = dict[str, Any]


def dump(scheduler: Scheduler) -> Iterator[tuple[str, Document]]:
    """One entry after the other, each with the list that it belongs to."""
    world = scheduler.world
    yield from (("nodes", each) for each in _nodes(world))
    yield from (("queues", each) for each in _queues(world))
    for id in list(world.cluster.gangs):
        gang = world.cluster.gangs.get(id)
        if gang is not None:
            yield "gangs", _gang(world, gang)
    for task, bound in list(world.assumed.items()):
        yield "binding", {"task": task, "node": bound.node, "plan": bound.plan}
    for task in list(world.evicting):
        yield "evicting", {"task": task}
    for name, count in scheduler.clashes.counts.items():
        yield "otherSchedulers", {"name": name, "binds": count}


def _nodes(world: World) -> Iterator[Document]:
    nodes, names = world.cluster.nodes, world.cluster.dimensions.names
    for name in list(nodes.rows):
        row = nodes.rows.get(name)
        if row is None:
            continue
        columns = {"allocatable": nodes.allocatable, "used": nodes.used, "releasing": nodes.releasing}
        amounts = {
            what: {names[column]: int(value) for column, value in enumerate(table[row][: len(names)]) if value}
            for what, table in columns.items()
        }
        yield {"name": name, **amounts}


def _queues(world: World) -> Iterator[Document]:
    names = world.cluster.dimensions.names
    for id in list(world.cluster.queues):
        account = world.cluster.accounts.queues.get(id)
        held = account.allocated if account is not None else {}
        yield {"id": id, "allocated": {names[column]: amount for column, amount in held.items() if amount}}


def _gang(world: World, gang: Gang) -> Document:
    return {
        "id": gang.id,
        "profile": gang.profile,
        "queue": gang.queue,
        "phase": gang.phase.name,
        "minimum": gang.minimum,
        "created": gang.created,
        "tasks": [_task(world, task) for task in gang.tasks.values()],
    }


def _task(world: World, task: Task) -> Document:
    found: Document = {"id": task.id, "name": f"{task.namespace}/{task.name}", "state": task.state.name}
    if task.row >= 0:
        found["node"] = world.cluster.nodes.name(task.row)
    refusal = world.refused.get(task.id)
    if refusal is not None:
        found["refused"] = str(refusal)
    return found
