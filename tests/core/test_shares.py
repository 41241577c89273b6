"""Shares by number, and profiles that would share the cluster out by two rules at once."""

from __future__ import annotations

import numpy as np
import pytest

from podium.core.model import Queue
from podium.core.plugins.queue_tree import QueueTree
from podium.core.plugins.quotas import Quota


@pytest.mark.parametrize(
    ("deserved", "held", "share"),
    [
        ((0, 0), (1, 0), 1.0),
        ((0, 0), (0, 0), 1.0),
        ((4, 4), (2, 1), 0.5),
        ((4, 0), (1, 9), 0.25),
        ((2, 4), (4, 4), 2.0),
    ],
)
def test_a_quotas_share(deserved: tuple[int, int], held: tuple[int, int], share: float) -> None:
    numbers = np.array(deserved, dtype=np.float64)
    quota = Quota(np.zeros(2), numbers, np.full(2, np.inf), numbers > 0, deserves=bool(numbers.any()))
    assert quota.share(np.array(held, dtype=np.float64)) == share


def test_where_queues_of_a_tree_part() -> None:
    queues = [Queue("root"), Queue("a", parent="root"), Queue("b", parent="root"), Queue("a1", parent="a")]
    queues += [Queue("a2", parent="a"), Queue("b1", parent="b"), Queue("a1x", parent="a1")]
    tree = QueueTree({queue.id: queue for queue in queues})
    assert tree.lines["a1x"] == ("a1x", "a1", "a", "root")
    assert tree.ancestors("a1x") == ("a1", "a")
    assert tree.parting("a1x", "b1") == ("a", "b")
    assert tree.parting("a1x", "a2") == ("a1", "a2")
    assert [tree.kinship("a1x", other) for other in ("a2", "b1", "b")] == [2, 1, 1]
    assert tree.leaf("a2")
    assert not tree.leaf("a1")


def test_families_of_queues_have_roots_of_their_own() -> None:
    ids = ["x/root", "x/q", "y/q", "y/root"]
    tree = QueueTree(
        {id: Queue(id, id[2:], dialect=id[0]) for id in ids}
        | {"x/sub": Queue("x/sub", "sub", parent="x/q", dialect="x")}
    )
    assert tree.lines["x/sub"] == ("x/sub", "x/q", "x/root")
    assert tree.lines["y/q"] == ("y/q", "y/root")
    assert sorted(tree.roots) == ["x/root", "y/root"]
