"""What nodes could take: how many of a kind of tasks fit, and who would have to leave for more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from podium.core.model.model import HOLDING, State, Task, TaskClass
from podium.explain.model import Model

# Sets of so many pods are looked through for the smallest; beyond that the largest pods go first.
_LOOKED_THROUGH = 3
_MOST = 64  # pods of one node that are looked at
_LIKELY = 8


def capacity(model: Model, cls: TaskClass, *, empty: bool = False) -> NDArray[np.int64]:
    """How many tasks of a class each row has room for, now or were it empty."""
    nodes = model.cluster.nodes
    nodes.widen()
    found = np.full(nodes.count, np.iinfo(np.int32).max, dtype=np.int64)
    for column, amount in cls.request.pairs:
        free = nodes.allocatable[: nodes.count, column].copy()
        if not empty:
            free -= nodes.used[: nodes.count, column]
        found = np.minimum(found, np.maximum(free, 0) // amount)
    found[~nodes.live[: nodes.count]] = 0
    return found


def by_capacity(model: Model, cls: TaskClass, rows: Sequence[int]) -> list[str]:
    """The names of some rows, the one with the most room first."""
    room, nodes = capacity(model, cls), model.cluster.nodes
    return [nodes.name(row) for row in sorted(rows, key=lambda row: (-int(room[row]), nodes.name(row)))]


def leaving(model: Model, cls: TaskClass, rows: Sequence[int], spared: set[str], places: int) -> list[list[Task]]:
    """For one more place, two more and so on: the fewest pods whose end makes room for so many tasks of a class.

    Of sets of the same size the one of the lowest priorities is taken.  Gangs in `spared` stay.
    """
    room = capacity(model, cls)
    # Most rows are no better than others: those where the largest few pods might do are looked at closely.
    bounds = [
        (bound, row) for row in rows if (bound := _at_least(model, cls, row, int(room[row]), spared)) is not None
    ]
    likely = sorted(bounds)[: 2 * places + _LIKELY]
    choices = [_steps(model, cls, row, int(room[row]), spared, places) for _, row in likely]
    # best[n]: the fewest pods for n more places, over the rows seen so far
    best: list[list[Task] | None] = [[]] + [None] * places
    for steps in choices:
        best = _with_row(best, steps, places)
    return [found for found in best[1:] if found is not None]


def _with_row(best: list[list[Task] | None], steps: list[list[Task]], places: int) -> list[list[Task] | None]:
    found = list(best)
    for have in range(places):
        before = best[have]
        if before is None:
            continue
        for more, victims in enumerate(steps, start=1):
            total = min(places, have + more)
            joined, known = before + victims, found[total]
            if known is None or _cost(joined) < _cost(known):
                found[total] = joined
    return found


def _at_least(model: Model, cls: TaskClass, row: int, have: int, spared: set[str]) -> int | None:
    """How many pods have to go from a row at the least for one more place; None if it cannot have one."""
    tasks, nodes, most = _movable(model, row, spared), model.cluster.nodes, 0
    for column, amount in cls.request.pairs:
        lacks = amount * (have + 1) - int(nodes.allocatable[row, column] - nodes.used[row, column])
        held = sorted((task.cls.request.amount(column) for task in tasks), reverse=True) if lacks > 0 else []
        count = 0
        for each in held:
            if lacks <= 0:
                break
            lacks, count = lacks - each, count + 1
        if lacks > 0:
            return None
        most = max(most, count)
    return most


def _movable(model: Model, row: int, spared: set[str]) -> list[Task]:
    return [
        task
        for task in model.cluster.on_row.get(row, {}).values()
        if task.state in HOLDING and task.gang.id not in spared and not task.protected and task.has_pod
    ]


def _steps(model: Model, cls: TaskClass, row: int, have: int, spared: set[str], places: int) -> list[list[Task]]:
    """For one more place on a row, two more and so on: the fewest pods that have to go."""
    tasks = _movable(model, row, spared)
    nodes, pairs = model.cluster.nodes, cls.request.pairs
    free = {column: int(nodes.allocatable[row, column] - nodes.used[row, column]) for column, _ in pairs}

    def fits(going: Sequence[Task], count: int) -> bool:
        return all(
            free[column] + sum(task.cls.request.amount(column) for task in going) >= amount * count
            for column, amount in pairs
        )

    short = [column for column, amount in pairs if free[column] < amount * (have + 1)]
    useful = [task for task in tasks if any(task.cls.request.amount(column) for column in short)] or tasks
    useful.sort(key=lambda task: (-sum(task.cls.request.amount(c) for c in short), task.priority, -task.started))
    useful = useful[:_MOST]
    found: list[list[Task]] = []
    for count in range(have + 1, have + places + 1):
        chosen = _fewest(useful, lambda going, count=count: fits(going, count))
        if chosen is None:
            break
        found.append(chosen)
    return found


def _fewest(tasks: list[Task], enough) -> list[Task] | None:  # type: ignore[no-untyped-def]
    if not enough(tasks):
        return None
    for size in range(1, min(_LOOKED_THROUGH, len(tasks)) + 1):
        if not enough(tasks[:size]) and len(tasks) > 24 and size > 1:
            continue
        found = [list(each) for each in combinations(tasks, size) if enough(each)]
        if found:
            return min(found, key=_cost)
    chosen: list[Task] = []
    for task in tasks:
        chosen.append(task)
        if enough(chosen):
            break
    for task in list(chosen):  # the first may have become needless
        rest = [each for each in chosen if each is not task]
        if enough(rest):
            chosen = rest
    return chosen


def _cost(tasks: Sequence[Task]) -> tuple[int, int, float, tuple[str, ...]]:
    return (
        len(tasks),
        sum(task.priority for task in tasks),
        -sum(task.started for task in tasks),
        tuple(sorted(task.name for task in tasks)),
    )


def going(model: Model) -> list[Task]:
    """Pods that are on their way out."""
    return [task for task in model.cluster.tasks.values() if task.state is State.RELEASING]
