"""What would help groups that are not let in because the whole cluster has no room for what they need at least.

Their pods do not exist yet, so nothing is known of single places.  What is proposed makes that much free: a
profile may let a group in with less, and it would only wait further on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from podium.core.model.model import HOLDING, Gang
from podium.explain.model import Model
from podium.explain.nodes_ladders import ending, like_node, more_nodes
from podium.explain.proposals import Ladder
from podium.queue_numbers import Admission
from podium.reasons import Refusal

_MOST_NODES = 64
_MOST_MORE = 64  # pods beyond those that make room for the minimum: others may be let in before


def admission_ladders(model: Model, gangs: Sequence[Gang], causes: Collection[Refusal]) -> Iterator[Ladder]:
    """Pods whose end makes room, where there can be enough, and more nodes."""
    for cause in causes:
        need = cause.numbers
        column = model.cluster.dimensions.find(need.resource) if isinstance(need, Admission) else None
        if column is None or not isinstance(need, Admission):
            continue
        lacks = int(need.need - need.free)
        if need.need <= need.total:
            yield from _ended(model, gangs, column, lacks)
        yield from _added(model, column, need.resource, lacks)


def _ended(model: Model, gangs: Sequence[Gang], column: int, lacks: int) -> Iterator[Ladder]:
    """The largest holders first, and of equals those that lose the least."""
    spared = {gang.id for gang in gangs}
    holders = [
        (-amount, task.priority, -task.started, f"{task.namespace}/{task.name}", task.row)
        for task in model.cluster.tasks.values()
        if task.state in HOLDING and task.has_pod and not task.protected and task.gang.id not in spared
        if (amount := task.cls.request.amount(column))
    ]
    holders.sort()
    pods = [pod for *_, pod, _ in holders]
    where = {pod: model.cluster.nodes.name(row) for *_, pod, row in holders}
    least = 0
    for amount, *_ in holders:
        if lacks <= 0:
            break
        lacks, least = lacks + amount, least + 1
    if lacks <= 0 < least:
        most = min(_MOST_MORE, len(pods) - least + 1)
        yield Ladder("free", most, lambda size: ending(pods[: least + size - 1], where), hint=1, room=True)


def _added(model: Model, column: int, resource: str, lacks: int) -> Iterator[Ladder]:
    nodes = model.cluster.nodes
    rows = [row for row in nodes.rows.values() if nodes.live[row]]
    row = max(rows, key=lambda row: (int(nodes.allocatable[row, column]), -row), default=None)
    each = int(nodes.allocatable[row, column]) if row is not None else 0
    document = like_node(model, row) if row is not None and each else None
    if row is None or document is None:
        return
    least, like = max(1, -(-lacks // each)), nodes.name(row)
    if least <= _MOST_NODES:
        yield Ladder(
            "add nodes",
            _MOST_NODES - least + 1,
            lambda size: more_nodes(model, like, document, [resource], least + size - 1),
            hint=1,
            costly=True,
            room=True,
        )
