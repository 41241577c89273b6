"""Scorers: for each of them a placement that changes with its weight; and that a batch chooses as greedy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.model.constraints import Constraints, NodeTerm, Requirement, Spread, Toleration
from podium.core.model.labels import Taint
from podium.core.model.model import Task
from tests.core.world import GIB, HOST, ZONE, World, named, near, profile

# Every scorer off: a test turns on what it looks at.
OFF: dict[str, Any] = {
    f"{name}.weight": 0
    for name in (
        "leastrequested",
        "mostrequested",
        "nodeaffinity",
        "podaffinity",
        "balancedresource",
        "tainttoleration",
        "imagelocality",
        "podtopologyspread",
    )
}


def only(**weights: float) -> Any:
    reported = {**OFF, **{f"{name}.weight": weight for name, weight in weights.items()}}
    return profile(["predicates", {"name": "nodeorder", "arguments": reported}])


def placed(build: Callable[[World], None], by: Any) -> str:
    world = World()
    build(world)
    return world.run(by).placed["t"]


# --- a scorer and a cluster: its weight leads to node b, its absence to the first name -------------------------


def fuller_and_emptier(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", at="a", cpu=4000, memory=40 * GIB)
    world.task("t")


def emptier_and_fuller(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", at="b", cpu=4000, memory=40 * GIB)
    world.task("t")


def uneven(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", at="a", cpu=8000, memory=10 * GIB)
    world.task("other", at="b", cpu=4500, memory=45 * GIB)
    world.task("t", memory=10 * GIB)


def preferring(world: World) -> None:
    world.node("a", {"disk": "hdd"})
    world.node("b", {"disk": "ssd"})
    term = NodeTerm((Requirement("disk", "In", ("ssd",)),))
    world.task("t", Constraints(preferred=((10, term),)))


def company(world: World) -> None:
    world.node("a", {ZONE: "one"})
    world.node("b", {ZONE: "two"})
    world.task("there", at="b", labels={"app": "db"})
    world.task("t", Constraints(preferred_peers=((10, near(ZONE, app="db")),)))


def avoiding(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", at="a", labels={"app": "db"})
    world.task("t", Constraints(preferred_peers=((-10, near(HOST, app="db")),)))


def wanted_by_others(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", Constraints(preferred_peers=((10, near(HOST, app="t")),)), at="b")
    world.task("t", labels={"app": "t"})


def shunned_by_others(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", Constraints(preferred_peers=((-10, near(HOST, app="t")),)), at="a")
    world.task("t", labels={"app": "t"})


def required_by_others(world: World) -> None:
    world.node("a")
    world.node("b")
    world.task("there", Constraints(affinity=(near(HOST, app="t"),)), at="b")
    world.task("t", labels={"app": "t"})


def unwelcome(world: World) -> None:
    world.node("a", taints=[Taint("slow", "PreferNoSchedule")])
    world.node("b")
    world.task("t")


def cached_image(world: World) -> None:
    world.node("a")
    world.node("b", images={"trainer:1": 2 * GIB})
    world.task("t", Constraints(images=("trainer:1",)))


def crowded_zone(world: World) -> None:
    world.node("a", {ZONE: "one"})
    world.node("b", {ZONE: "two"})
    world.task("there", at="a", labels={"app": "s"})
    world.task("t", Constraints(spread=(Spread(ZONE, named(app="s"), hard=False),)), labels={"app": "s"})


@pytest.mark.parametrize(
    ("weight", "build"),
    [
        ("leastrequested", fuller_and_emptier),
        ("mostrequested", emptier_and_fuller),
        ("balancedresource", uneven),
        ("nodeaffinity", preferring),
        ("podaffinity", company),
        ("podaffinity", avoiding),
        ("podaffinity", wanted_by_others),
        ("podaffinity", shunned_by_others),
        ("podaffinity", required_by_others),
        ("tainttoleration", unwelcome),
        ("imagelocality", cached_image),
        ("podtopologyspread", crowded_zone),
    ],
)
@pytest.mark.argument("nodeorder", "leastrequested.weight")
@pytest.mark.argument("nodeorder", "mostrequested.weight")
@pytest.mark.argument("nodeorder", "nodeaffinity.weight")
@pytest.mark.argument("nodeorder", "podaffinity.weight")
@pytest.mark.argument("nodeorder", "balancedresource.weight")
@pytest.mark.argument("nodeorder", "tainttoleration.weight")
@pytest.mark.argument("nodeorder", "imagelocality.weight")
@pytest.mark.argument("nodeorder", "podtopologyspread.weight")
def test_a_weight_moves_a_task(weight: str, build: Callable[[World], None]) -> None:
    assert placed(build, only(**{weight: 1})) == "b"
    assert placed(build, only()) == "a"


def test_default_weights_are_volcanos() -> None:
    """Taints (3) outweigh affinity to nodes and pods (2), which outweigh emptiness (1)."""
    world = World()
    world.node("a", {"disk": "ssd"}, taints=[Taint("slow", "PreferNoSchedule")])
    world.node("b")
    term = NodeTerm((Requirement("disk", "In", ("ssd",)),))
    world.task("t", Constraints(preferred=((100, term),)))
    assert world.run(profile(["predicates", "nodeorder"])).placed == {"t": "b"}


def test_a_tolerated_preference_is_none() -> None:
    world = World()
    world.node("a", taints=[Taint("slow", "PreferNoSchedule")])
    world.node("b")
    task = world.task("t", Constraints(tolerations=(Toleration("slow", "Exists"),)))
    by = only(tainttoleration=1)
    assert world.session(by).candidates(task).path == ("batch", [])
    assert world.run(by).placed == {"t": "a"}


def test_small_images_do_not_matter() -> None:
    world = World()
    world.node("a")
    world.node("b", images={"tiny:1": 10 << 20})
    world.task("t", Constraints(images=("tiny:1",)))
    assert world.run(only(imagelocality=1)).placed == {"t": "a"}


def test_an_image_that_a_node_lost_counts_no_more() -> None:
    world = World()
    world.node("a")
    world.node("b", images={"trainer:1": 2 * GIB})
    world.node("b")
    world.task("t", Constraints(images=("trainer:1",)))
    assert world.run(only(imagelocality=1)).placed == {"t": "a"}


def test_soft_spread_never_refuses_and_prefers_nodes_with_the_label() -> None:
    world = World()
    world.node("a")
    world.node("b", {ZONE: "one"})
    world.task("there", at="b", labels={"app": "s"})
    constraint = Spread(ZONE, named(app="s"), hard=False)
    world.task("t", Constraints(spread=(constraint,)), labels={"app": "s"})
    assert world.run(only(podtopologyspread=1)).placed == {"t": "b"}


def test_soft_spread_of_a_gang_is_even() -> None:
    world = World()
    for name in ("a1", "a2", "b1"):
        world.node(name, {ZONE: name[0]})
    gang = world.gang("g", minimum=6)
    for index in range(6):
        constraint = Spread(ZONE, named(app="s"), hard=False)
        world.task(f"g-{index}", Constraints(spread=(constraint,)), gang=gang, labels={"app": "s"})
    world.run(only(podtopologyspread=1))
    found = [node[0] for node in world.placed.values()]
    assert (found.count("a"), found.count("b")) == (3, 3)


@pytest.mark.parametrize(
    ("wanted", "slow"),
    [
        (Constraints(), False),
        (Constraints(selector=(("disk", "ssd"),)), False),
        (Constraints(preferred=((1, NodeTerm((Requirement("disk", "Exists"),))),)), False),
        (Constraints(images=("trainer:1",)), False),
        (Constraints(preferred_peers=((1, near(ZONE, app="x")),)), True),
        (Constraints(spread=(Spread(ZONE, named(app="x"), hard=False),)), True),
    ],
)
def test_only_who_looks_at_others_leaves_the_fast_path(wanted: Constraints, slow: bool) -> None:
    world = World()
    world.node("a", {"disk": "ssd"}, images={"trainer:1": GIB})
    session = world.session(profile(["predicates", "nodeorder", "binpack"]))
    assert (session.candidates(world.task("t", wanted)).path[0] != "batch") is slow


# --- batches ---------------------------------------------------------------------------------------------------

_SCORERS: list[list[Any]] = [
    ["predicates", "nodeorder"],
    ["predicates", "binpack"],
    ["predicates", "nodeorder", "binpack"],
    ["predicates", {"name": "nodeorder", "arguments": {"mostrequested.weight": 2, "leastrequested.weight": 0}}],
    ["predicates", {"name": "nodeorder", "arguments": {"balancedresource.weight": 0}}],
    ["predicates", {"name": "nodeorder", "arguments": {"leastrequested.weight": 0}}],
    [{"name": "binpack", "arguments": {"binpack.resources": "nvidia.com/gpu", "binpack.weight": 5}}, "nodeorder"],
    ["predicates"],
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_batch_chooses_what_greedy_chooses(data: st.DataObject) -> None:
    """n tasks at once go where n tasks go one after the other, the world changing in between."""
    by = profile(data.draw(st.sampled_from(_SCORERS)))
    size = data.draw(st.integers(1, 8))
    count = data.draw(st.integers(1, 25))
    request: dict[str, Any] = {
        "cpu": data.draw(st.sampled_from([0, 100, 300, 1000])),
        "memory": data.draw(st.sampled_from([0, GIB, 3 * GIB])),
        "more": {"nvidia.com/gpu": data.draw(st.integers(0, 2))},
    }
    world = World()
    for index in range(size):
        world.node(
            f"n{index}",
            cpu=data.draw(st.sampled_from([1000, 2000, 3000])),
            memory=data.draw(st.sampled_from([4, 8, 16])) * GIB,
            pods=data.draw(st.integers(1, 12)),
            more={"nvidia.com/gpu": data.draw(st.integers(0, 8))},
        )
        if data.draw(st.booleans()):
            world.task(f"r{index}", at=f"n{index}", cpu=500, memory=GIB)
    gang = world.gang("g", minimum=count)
    tasks = [world.task(f"g-{index}", gang=gang, **request) for index in range(count)]

    together = world.session(by).candidates(tasks[0]).choose(tasks)

    session = world.session(by)
    statement = session.statement()
    singly = []
    for task in tasks:
        rows = session.candidates(task).choose([task])
        if not rows:
            break
        statement.place([task], rows)
        singly += rows
    assert together == singly
    statement.rollback()
    world.cluster.validate()


def scores(task: Task, world: World, by: Any) -> list[float]:
    session = world.session(by)
    found: list[float] = session.candidates(task).suitability.tolist()
    return [round(each, 4) for each in found]


def test_what_a_node_is_worth_for_its_filling() -> None:
    """Half a node's CPU and a quarter of its memory, with the task."""
    world = World()
    world.node("a", cpu=2000, memory=4 * GIB)
    world.node("none", cpu=2000, memory=4 * GIB, more={"nvidia.com/gpu": 4})
    task = world.task("t", cpu=1000, memory=GIB)
    assert scores(task, world, only(leastrequested=1)) == [62.5, 62.5]
    assert scores(task, world, only(mostrequested=1)) == [37.5, 37.5]
    # The deviation of two shares is half of their difference; the others count only for whoever asks for them.
    assert scores(task, world, only(balancedresource=1)) == [87.5, 87.5]
    world.cluster.remove_node("a")
    task = world.task("t", cpu=1000, memory=GIB, more={"nvidia.com/gpu": 4})
    deviation = float(np.std([0.5, 0.25, 1.0]))
    assert scores(task, world, only(balancedresource=1))[-1:] == [round(100 * (1 - deviation), 4)]


def test_a_node_without_any_of_it_counts_as_full() -> None:
    world = World()
    world.node("a", cpu=2000, memory=4 * GIB)
    world.node("b", cpu=2000, memory=0)
    task = world.task("t", cpu=1000, memory=0)
    assert scores(task, world, only(leastrequested=1)) == [75.0, 25.0]
    assert scores(task, world, only(mostrequested=1)) == [25.0, 75.0]


def test_soft_spread_over_nodes_counts_what_is_on_each() -> None:
    world = World()
    for name, count in (("a", 2), ("b", 1), ("c", 3)):
        world.node(name)
        for index in range(count):
            world.task(f"{name}-{index}", at=name, labels={"app": "s"})
    constraint = Spread(HOST, named(app="s"), hard=False, by_node=True)
    world.task("t", Constraints(spread=(constraint,)), labels={"app": "s"})
    assert world.run(only(podtopologyspread=1)).placed == {"t": "b"}
