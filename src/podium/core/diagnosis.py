"""Why a task finds no place: which filter took how many nodes, and what the rest lack."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from podium.core.model import Task
from podium.reasons import DEVICE_MODEL, DEVICE_ROOM, NO_NODES, UNPLACEABLE, Refusal, refuse

if TYPE_CHECKING:
    from podium.core.session import Session


def diagnose(session: Session, task: Task) -> Refusal:
    """The refusal of a task for which no node can be found now."""
    candidates = session.candidates(task)
    if candidates.refusal is not None:
        return candidates.refusal
    nodes = session.cluster.nodes
    if not len(nodes):
        return refuse(NO_NODES)
    causes: Counter[str] = Counter()
    live = nodes.live[: nodes.count]
    left = live.copy()
    wanted = task.cls.constraints.devices
    if wanted is not None:
        unsuitable = left & ~nodes.devices.admitted(wanted, nodes.count)
        if np.any(unsuitable):
            causes[str(refuse(DEVICE_MODEL, wanted=wanted))] += int(np.count_nonzero(unsuitable))
            left &= ~unsuitable
    for plugin in session.node_hooks("refusals", task):
        for refusal, rows in plugin.refusals(task):
            taken = int(np.count_nonzero(left & rows))
            if taken:
                causes[str(refusal)] += taken
                left &= ~rows
    unexplained = int(np.count_nonzero(left & ~candidates.static))
    if unexplained:
        causes["node(s) were filtered out"] += unexplained
    idle = nodes.idle()
    open_rows = candidates.static & left
    for column, amount in task.cls.request.pairs:
        short = int(np.count_nonzero(open_rows & (idle[:, column] < amount)))
        if short:
            causes[f"Insufficient {session.cluster.dimensions.names[column]}"] += short
    if wanted is not None:
        short = int(np.count_nonzero(open_rows & ~nodes.devices.roomy(wanted, nodes.count)))
        if short:
            causes[str(refuse(DEVICE_ROOM, wanted=wanted))] += short
    missing = len(nodes) - int(np.count_nonzero(live))
    if missing:
        causes["node(s) were not ready"] += missing
    listed = ", ".join(f"{count} {cause}" for cause, count in sorted(causes.items(), key=lambda item: item[0]))
    return refuse(UNPLACEABLE, nodes=len(nodes), causes=listed or "all of them were refused")
