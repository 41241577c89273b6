"""Why a task finds no place: which filter took how many nodes, and what the rest lack."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from podium.core.model import Task
from podium.reasons import NO_NODES, UNPLACEABLE, Refusal, refuse

if TYPE_CHECKING:
    from podium.core.session import Session


def diagnose(session: Session, task: Task) -> Refusal:
    """The refusal of a task for which no node can be found now."""
    candidates = session.candidates(task.cls)
    if candidates.refusal is not None:
        return candidates.refusal
    nodes = session.cluster.nodes
    if not len(nodes):
        return refuse(NO_NODES)
    causes: Counter[str] = Counter()
    explainers = session.node_hooks("explain", task.cls)
    for row in np.flatnonzero(nodes.live[: nodes.count] & ~candidates.static).tolist():
        told = next(filter(None, (plugin.explain(task.cls, row) for plugin in explainers)), None)
        causes[str(told) if told is not None else "node(s) were filtered out"] += 1
    idle = nodes.idle()
    open_rows = candidates.static & nodes.live[: nodes.count]
    for column, amount in task.cls.request.pairs:
        short = int(np.count_nonzero(open_rows & (idle[:, column] < amount)))
        if short:
            causes[f"Insufficient {session.cluster.dimensions.names[column]}"] += short
    missing = len(nodes) - int(np.count_nonzero(nodes.live[: nodes.count]))
    if missing:
        causes["node(s) were not ready"] += missing
    listed = ", ".join(f"{count} {cause}" for cause, count in sorted(causes.items(), key=lambda item: item[0]))
    return refuse(UNPLACEABLE, nodes=len(nodes), causes=listed or "all of them were refused")
