"""The self-check finds sums that are wrong, whoever made them so, and puts them right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.cluster.recount import recount
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Queue, State
from podium.core.model.parties import Slot


def cluster() -> Cluster:
    found = Cluster()
    found.put_node(NodeFacts("n", allocatable={"cpu": 8000, "pods": 10}))
    found.put_queue(Queue("q"))
    found.put_gang(GangFacts("g", "ns", "g", "q", minimum=2))
    for number, state in enumerate((State.RUNNING, State.RELEASING, State.PENDING)):
        node = "n" if state is not State.PENDING else ""
        found.put_task(TaskFacts(f"t{number}", "ns", f"t{number}", "g", {"cpu": 1000}, state=state, node=node))
    found.settle()
    return found


def test_sums_that_are_right_are_left_alone() -> None:
    assert recount(cluster()) == 0


def test_sums_that_are_wrong_are_put_right() -> None:
    found = cluster()
    found.nodes.used[0, 0] += 500
    found.nodes.releasing[0, 0] = 0
    found.accounts.queues["q"].allocated[0] = 7
    assert recount(found) == 3
    assert recount(found) == 0
    found.validate()


def _move(found: Cluster) -> None:
    found.on_row[7] = {}
    found.tasks["t0"].row = 7


def _place_pending(found: Cluster) -> None:
    task = found.tasks["t2"]
    task.row = 0
    found.on_row[0][task.id] = task


def _reserve_nowhere(found: Cluster) -> None:
    found.tasks["t2"].state = State.RESERVED


def _run_without_pod(found: Cluster) -> None:
    found.tasks["t0"].has_pod = False


def _stand_elsewhere(found: Cluster) -> None:
    found.on_row[3] = {"t0": found.tasks["t0"]}


def _count_wrong(found: Cluster) -> None:
    found.gangs["g"].counts[State.PENDING] += 1


def _forget_an_owner(found: Cluster) -> None:
    facts = found.nodes.facts[0]
    assert facts is not None
    found.nodes.facts[0] = msgspec.structs.replace(facts, queue="q")


def _attach(found: Cluster) -> None:
    found.attachments._attached["disk"] = Counter({0: 1})


def _spoil_accounts(found: Cluster) -> None:
    found.accounts.queues["q"].allocated[0] = 7


def _use(found: Cluster) -> None:
    found.nodes.used[0, 0] += 1


def _release(found: Cluster) -> None:
    found.nodes.releasing[0, 0] -= 1


def _promise(found: Cluster) -> None:
    found.nodes.pipelined[0, 1] = 5


def _carry(found: Cluster) -> None:
    count = np.zeros(8, dtype=np.int64)
    count[0] = 1
    found.peers._counts[0, Slot.PRESENT] = count


@pytest.mark.parametrize(
    ("spoil", "reported"),
    [
        (_move, "is not on its row"),
        (_place_pending, "holds a place"),
        (_reserve_nowhere, "holds no place"),
        (_run_without_pod, "has no pod"),
        (_stand_elsewhere, "tasks of other rows"),
        (_count_wrong, "its tasks say"),
        (_forget_an_owner, "its facts say"),
        (_carry, "counts 1 on row 0, there are 0"),
        (_attach, "attached are"),
        (_spoil_accounts, "accounts"),
        (_use, "used.0, 0. is 2001, its tasks sum to 2000"),
        (_release, "releasing.0, 0. is 999, its tasks sum to 1000"),
        (_promise, "pipelined.0, 1. is 5, its tasks sum to 0"),
    ],
)
def test_what_does_not_hold_together_is_found(spoil: Callable[[Cluster], None], reported: str) -> None:
    found = cluster()
    found.validate()
    spoil(found)
    with pytest.raises(AssertionError, match=reported):
        found.validate()


def test_nodes_of_a_queue_and_reserved_places_are_as_they_should_be() -> None:
    found = cluster()
    found.put_node(NodeFacts("owned", allocatable={"cpu": 8000, "pods": 10}, queue="q"))
    facts = TaskFacts("t3", "ns", "t3", "g", {"cpu": 1000}, state=State.RESERVED, node="owned")
    found.put_task(facts)
    found.assign(found.tasks["t2"], State.PIPELINED, 0)
    found.validate()
