"""Every sum that is kept up to date, counted anew from the tasks: to check the model, and to put it right.

They never differ unless something here is wrong.  Tests look after every step (`validate`).  A scheduler that runs
for months should find it out by itself, count it, and go on with the truth (`recount`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.attachments import Attachments
from podium.core.model.model import ON_NODE, State

if TYPE_CHECKING:
    from podium.core.cluster.cluster import Cluster

Table = NDArray[np.int64]

_NO_ROW = frozenset(State) - ON_NODE - {State.PIPELINED}


def recount(cluster: Cluster) -> int:
    """Puts what nodes and queues hold right; how many numbers were wrong."""
    wrong = 0
    for table, counted in _tables(cluster).values():
        differs = table != counted
        wrong += int(np.count_nonzero(differs))
        table[differs] = counted[differs]
    return wrong + cluster.recount_accounts()


def validate(cluster: Cluster) -> None:
    """Compares every sum with the tasks: raises AssertionError with what differs."""
    for task in cluster.tasks.values():
        assert task.row < 0 or cluster.on_row[task.row].get(task.id) is task, f"{task} is not on its row"
        assert task.row < 0 or task.state not in _NO_ROW, f"{task} holds a place"
        assert task.state is not State.RESERVED or task.row >= 0, f"{task} holds no place"
        assert task.state is not State.RESERVED or task.gang.id in cluster.gangs, f"{task} holds one for no gang"
        assert task.has_pod or task.state in (State.PENDING, State.PIPELINED, State.ALLOCATED, State.RESERVED), (
            f"{task} has no pod"
        )
    for row, tasks in cluster.on_row.items():
        assert all(task.row == row for task in tasks.values()), f"{row} has tasks of other rows"
    for name, (table, counted) in _tables(cluster).items():
        for row, column in np.argwhere(table != counted).tolist():
            reported = f"{name}[{row}, {column}] is {table[row, column]}"
            raise AssertionError(f"{reported}, its tasks sum to {counted[row, column]}")
    cluster.peers.validate(cluster.tasks.values())
    cluster.nodes.devices.validate(cluster.tasks.values())
    cluster.claims.validate(cluster.tasks.values())
    cluster.slots.validate()
    _validate_attachments(cluster)
    for gang in cluster.all_gangs:
        counts = [0] * len(State)
        for task in gang.tasks.values():
            counts[task.state] += 1
        assert counts == gang.counts, f"{gang} counts {gang.counts}, its tasks say {counts}"
    for row, facts in enumerate(cluster.nodes.facts):
        if facts is not None:
            owner = cluster.nodes.properties.owners.rows(cluster.nodes.count)[row]
            known = cluster.nodes.properties.owners.values[owner] if owner >= 0 else ""
            assert known == facts.queue, f"{facts.name} belongs to {known!r}, its facts say {facts.queue!r}"
    assert cluster.recount_accounts() == 0, "the accounts of queues and gangs differ from their tasks"


def _tables(cluster: Cluster) -> dict[str, tuple[Table, Table]]:
    """What nodes hold, as it is kept and as their tasks sum up."""
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
    return {name: (table, counted[name]) for name, table in tables.items()}


def _validate_attachments(cluster: Cluster) -> None:
    afresh = Attachments()
    for task in cluster.tasks.values():
        if task.row >= 0 and task.cls.constraints.attachments:
            afresh.book(task, 1)
    found, wanted = cluster.attachments.counts, afresh.counts
    assert found == wanted, f"attached are {found}, the tasks sum to {wanted}"
