"""The self-check: sums that are kept up to date are compared with the tasks they stand for, and put right.

They never differ unless something here is wrong.  A scheduler that runs for months should find that out by itself,
count it, and go on with the truth.
"""

from __future__ import annotations

import numpy as np

from podium.core.cluster import Cluster
from podium.core.model import State


def recount(cluster: Cluster) -> int:
    """Puts what nodes and queues hold right; how many numbers were wrong."""
    nodes = cluster.nodes
    tables = {"used": nodes.used, "releasing": nodes.releasing, "pipelined": nodes.pipelined}
    counted = {name: np.zeros_like(table) for name, table in tables.items()}
    for task in cluster.tasks.values():
        if task.row < 0:
            continue
        names = ["pipelined"] if task.state is State.PIPELINED else ["used"]
        if task.state is State.RELEASING:
            names.append("releasing")
        for name in names:
            for column, amount in task.cls.request.pairs:
                counted[name][task.row, column] += amount
    wrong = 0
    for name, table in tables.items():
        differs = table != counted[name]
        wrong += int(np.count_nonzero(differs))
        table[differs] = counted[name][differs]
    return wrong + cluster.recount_accounts()
