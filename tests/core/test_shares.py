"""Shares by number, and profiles that would share the cluster out by two rules at once."""

from __future__ import annotations

import numpy as np
import pytest

from podium.core.model.model import Phase, Queue
from podium.core.plugins.queue_tree import QueueTree
from podium.core.plugins.quotas import Quota
from tests.core.world import World, profile


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
    assert tree.to_root["a1x"] == ("a1x", "a1", "a", "root")
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
    assert tree.to_root["x/sub"] == ("x/sub", "x/q", "x/root")
    assert tree.to_root["y/q"] == ("y/q", "y/root")
    assert sorted(tree.roots) == ["x/root", "y/root"]


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
@pytest.mark.parametrize(
    ("capability", "placed"), [({"cpu": 0}, 3), ({"cpu": 2000}, 2), ({"gpu": 0, "cpu": 2000}, 2)]
)
def test_a_queue_with_no_cpu_at_all_has_no_limit(plugin: str, capability: dict[str, int], placed: int) -> None:
    world = World()
    world.node("n")
    world.queue("q", capability=capability)
    for index in range(3):
        world.task(f"t{index}")
    assert len(world.run(profile(["gang", plugin, "predicates"])).placed) == placed


@pytest.mark.parametrize(("minimum", "admitted"), [(1999, True), (2000, True), (2001, False)])
@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_a_minimum_may_fill_a_queue_to_its_limit(plugin: str, minimum: int, admitted: bool) -> None:
    world = World()
    world.node("n")
    world.queue("q", capability={"cpu": 4000})
    world.gang("held", phase=Phase.RUNNING, minimum_resources={"cpu": 2000})
    world.task("there", at="n", cpu=2000, gang="ns/held")
    world.gang("g", phase=Phase.PENDING, minimum_resources={"cpu": minimum})
    world.task("t", gang="ns/g")
    world.run(profile(["gang", plugin, "predicates"], actions="enqueue"))
    assert (world.cluster.gangs["ns/g"].phase is Phase.INQUEUE) == admitted
    assert ("queue q" in world.refusal("g")) != admitted


@pytest.mark.parametrize(("deserved", "evicted"), [({"cpu": 4000, "gpu": 0}, {"v"}), ({"cpu": 4000}, set())])
def test_a_share_of_none_is_a_share(deserved: dict[str, int], evicted: set[str]) -> None:
    """Who was given no GPU by name gives back those it has; of whom nothing was said keeps them."""
    world = World()
    world.node("n", more={"gpu": 1})
    world.queue("q", deserved={"gpu": 1})
    world.queue("other", deserved=deserved)
    world.task("v", at="n", queue="other", more={"gpu": 1})
    world.task("t", more={"gpu": 1})
    assert world.run(profile(["gang", "capacity", "predicates"], actions="reclaim")).evicted == evicted


def test_what_is_left_is_without_what_is_used_and_what_was_admitted() -> None:
    world = World()
    world.node("n", cpu=10_000)
    world.task("there", at="n", cpu=2000)
    world.gang("admitted", minimum_resources={"cpu": 3000})
    world.gang("g", phase=Phase.PENDING, minimum_resources={"cpu": 9000})
    world.task("t", gang="ns/g")
    world.run(profile(["gang", "overcommit"], actions="enqueue"))
    assert "needs at least 9 cpu" in world.refusal("g")
    assert "5" in world.refusal("g").partition("9 cpu")[2], world.refusal("g")
    assert "5 of 10 are free: those that were let in before wait for 3" in world.refusal("g")
