"""The self-check finds sums that are wrong, whoever made them so, and puts them right."""

from __future__ import annotations

from podium.core.cluster import Cluster
from podium.core.facts import GangFacts, TaskFacts
from podium.core.model import Queue, State
from podium.core.nodes import NodeFacts
from podium.core.recount import recount


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
    found.accounts.queues["q"].held[0] = 7
    assert recount(found) == 3
    assert recount(found) == 0
    found.validate()
