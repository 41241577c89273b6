"""Devices of nodes: shares and whole ones, which of them a task gets, and that batches change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.cluster.fragmentation import Shape
from podium.core.model.constraints import WHOLE, Constraints, DeviceRequest
from podium.core.model.decisions import Refuse
from podium.core.model.model import State, Task
from podium.core.profiles.profile import Profile
from tests.core.world import World, profile

MILLI = "gpu-milli"
POLICIES = ("fgd", "gpufilling", "bestfit", "dotprod", "gpupacking", "gpuclustering", "random")


def node(world: World, name: str, devices: int, model: str = "", cpu: int = 10_000) -> None:
    world.node(name, cpu=cpu, more={MILLI: devices * WHOLE}, devices=devices, device_model=model)


def ask(
    world: World, name: str, share: int = WHOLE, count: int = 1, models: tuple[str, ...] = (), **more: object
) -> Task:
    amounts = {MILLI: share * count}
    wanted = Constraints(devices=DeviceRequest(count, share, models))
    return world.task(name, wanted, more=amounts, **more)  # type: ignore[arg-type]


def places(world: World) -> dict[str, tuple[str, tuple[int, ...]]]:
    nodes = world.cluster.nodes
    return {
        task.name: (nodes.name(task.row), task.devices) for task in world.cluster.tasks.values() if task.row >= 0
    }


def why(world: World) -> list[str]:
    return [str(each.refusal) for each in world.decisions if isinstance(each, Refuse)]


PLAIN = profile(["gang"], actions="allocate")


def test_two_halves_are_no_whole() -> None:
    world = World()
    node(world, "a", 2)
    ask(world, "left", 500, at="a", devices=(0,))
    ask(world, "right", 500, at="a", devices=(1,))
    ask(world, "whole")
    world.run(PLAIN)
    assert places(world).keys() == {"left", "right"}
    assert why(world) == [
        "1 node matches, and has no place for it now; 0/1 nodes are available: "
        "1 node(s) had too little free of their devices for 1 whole device"
    ]


def test_a_share_goes_where_it_leaves_least_and_whole_ones_are_the_first_that_are_free() -> None:
    world = World()
    node(world, "a", 4)
    ask(world, "some", 300, at="a", devices=(0,))
    ask(world, "more", 600, at="a", devices=(2,))
    ask(world, "share", 400)
    ask(world, "pair", count=2)
    world.run(PLAIN)
    assert places(world) == {
        "some": ("a", (0,)),
        "more": ("a", (2,)),
        "share": ("a", (2,)),
        "pair": ("a", (1, 3)),
    }


def test_the_model_must_be_one_that_is_asked_for() -> None:
    world = World()
    node(world, "a", 2, "T4")
    node(world, "b", 2, "A10")
    world.node("c")
    ask(world, "fits", 500, models=("A10", "H100"))
    ask(world, "never", 500, models=("H100",))
    world.run(PLAIN)
    assert places(world) == {"fits": ("b", (0,))}
    assert why(world) == [
        "no node matches; 0/3 nodes are available: 3 node(s) had no 500/1000 of one device (H100)"
    ]


def test_what_leaves_makes_room_for_a_promise_on_its_own_device() -> None:
    world = World()
    node(world, "a", 2)
    ask(world, "staying", at="a", devices=(0,))
    ask(world, "leaving", at="a", devices=(1,), state=State.RELEASING)
    waiting = ask(world, "waiting", 700)
    session = world.session(PLAIN)
    candidates = session.candidates(waiting)
    assert candidates.choose([waiting]) == []
    assert candidates.choose_later(waiting) == 0
    statement = session.statement()
    statement.pipeline(waiting, 0)
    assert waiting.devices == (1,)
    world.cluster.validate()
    statement.rollback()
    assert not waiting.devices
    world.cluster.validate()


def test_an_eviction_that_is_undone_changes_nothing() -> None:
    world = World()
    node(world, "a", 2)
    victim = ask(world, "victim", 800, at="a", devices=(1,))
    session = world.session(PLAIN)
    statement = session.statement()
    statement.evict(victim, "for a test")
    assert victim.devices == (1,)
    world.cluster.validate()
    statement.rollback()
    assert (victim.state, victim.devices) == (State.RUNNING, (1,))
    world.cluster.validate()


def test_what_the_outside_tells_is_true_even_where_it_is_too_much() -> None:
    world = World()
    node(world, "a", 1)
    ask(world, "one", 700, at="a", devices=(0,))
    ask(world, "two", 700, at="a", devices=(0,))
    untold = ask(world, "three", 700, at="a")
    assert untold.devices == (0,)
    world.cluster.validate()
    ask(world, "four", 100)
    world.run(PLAIN)
    assert "four" not in places(world)


def test_a_node_that_goes_and_comes_back_finds_its_tasks_on_their_devices() -> None:
    world = World()
    node(world, "a", 4)
    task = ask(world, "t", 400, at="a", devices=(3,))
    world.cluster.remove_node("a")
    world.cluster.validate()
    node(world, "a", 4)
    assert task.devices == (3,)
    world.cluster.validate()


def test_random_depends_on_its_seed_alone() -> None:
    def run(seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        world = World()
        for number in range(5):
            node(world, f"n{number}", 4)
        for number in range(12):
            ask(world, f"t-{number}", 300)
        world.run(profile(["gang", {"name": "random", "arguments": {"random.seed": seed}}]))
        return places(world)

    assert run(1) == run(1)
    assert run(1) != run(2)


def beside_a_shared_gpu() -> World:
    """Half a GPU is asked for: there are a fresh node, and one with half a GPU in use.  Whole ones are usual."""
    world = World()
    node(world, "fresh", 8)
    node(world, "used", 8)
    ask(world, "first", 500, at="used", devices=(0,))
    for number in range(8):
        ask(world, f"usual-{number}", at="used", state=State.SUCCEEDED)
    ask(world, "next", 500)
    return world


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("dotprod", "used"),  # the product of what is asked with what is free is smaller
        ("bestfit", "used"),
        ("gpupacking", "used"),  # a GPU in use before a fresh node
        ("gpuclustering", "used"),  # together with its like
        ("fgd", "used"),  # a fresh one would be of no use to whole tasks any more
        ("gpufilling", "used"),
    ],
)
def test_policies_prefer_a_gpu_that_is_shared_already(policy: str, chosen: str) -> None:
    world = beside_a_shared_gpu()
    world.run(profile(["gang", policy]))
    assert places(world)["next"] == (chosen, (0,))


@pytest.mark.parametrize("policy", ["dotprod", "bestfit", "gpupacking", "gpuclustering", "gpufilling", "fgd"])
def test_the_weight_of_a_policy_counts_beside_others(policy: str) -> None:
    def run(weight: float) -> str:
        world = beside_a_shared_gpu()
        weighted = {"name": policy, "arguments": {f"{policy}.weight": weight}}
        spread = {"name": "nodeorder", "arguments": {"leastrequested.weight": 1, "balancedresource.weight": 0}}
        return places(world.run(profile(["gang", weighted, spread])))["next"][0]

    assert (run(100), run(0)) == ("used", "fresh")


def placed_by(
    policy: Profile,
    cluster: list[tuple[int, int]],
    running: list[int],
    share: int,
    count: int,
    size: int,
    together: bool,
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Where equal tasks go: as one gang, or each for itself."""
    world = World()
    world.cluster.workload = {Shape(1000, 250, 1): 0.4, Shape(2000, WHOLE, 1): 0.5, Shape(1000): 0.1}
    for number, (devices, cpu) in enumerate(cluster):
        node(world, f"n{number}", devices, cpu=cpu)
    for number, taken in enumerate(running):
        ask(world, f"r-{number}", taken, at=f"n{number % len(cluster)}")
    gang = world.gang("gang", minimum=size) if together else ""
    for number in range(size):
        ask(world, f"t-{number}", share, count, gang=gang)
    world.run(policy)
    return places(world)


@settings(max_examples=120, deadline=None)
@given(
    policy=st.sampled_from(POLICIES[:-1]),
    cluster=st.lists(st.tuples(st.integers(1, 4), st.sampled_from((3000, 10_000))), min_size=1, max_size=4),
    running=st.lists(st.integers(1, WHOLE), max_size=6),
    asked=st.one_of(
        st.tuples(st.sampled_from((100, 250, 400, 600)), st.just(1)), st.tuples(st.just(WHOLE), st.integers(1, 3))
    ),
    size=st.integers(1, 10),
)
def test_a_batch_is_placed_as_one_by_one(
    policy: str, cluster: list[tuple[int, int]], running: list[int], asked: tuple[int, int], size: int
) -> None:
    by = profile(["gang", policy])
    apart = placed_by(by, cluster, running, *asked, size, False)
    fitting = sum(name.startswith("t-") for name in apart)
    together = placed_by(by, cluster, running, *asked, fitting, True)
    assert together == apart


def test_a_task_of_somebody_else_is_not_thought_to_be_on_a_device_that_is_still_held() -> None:
    """Where it is nobody says; what is being left is not free yet, and what is promised may be."""
    world = World()
    node(world, "a", 2)
    ask(world, "leaving", at="a", state=State.RELEASING, devices=(0,))
    assert ask(world, "strange", at="a").devices == (1,)
    world = World()
    node(world, "a", 2)
    ask(world, "leaving", at="a", state=State.RELEASING, devices=(0,))
    ask(world, "there", at="a", devices=(1,))
    assert ask(world, "promised", at="a", state=State.PIPELINED).devices == (0,)
    world.cluster.validate()


def test_tables_of_devices_grow_with_nodes_and_devices() -> None:
    world = World()
    for index in range(40):
        node(world, f"n{index}", 1 + index % 20)
        ask(world, f"t{index}", at=f"n{index}", devices=(index % 20,))
    world.cluster.validate()
    ask(world, "large", count=20)
    world.run(PLAIN)
    assert "large" not in places(world)
    node(world, "last", 20)
    world.run(PLAIN)
    assert places(world)["large"] == ("last", tuple(range(20)))


def test_nodes_without_devices_are_known() -> None:
    """However often a node with one device is heard of, and after it is gone."""
    world = World()
    for _ in range(2):
        node(world, "a", 1)
    assert world.cluster.nodes.devices.any
    world.cluster.remove_node("a")
    assert not world.cluster.nodes.devices.any


def test_a_node_that_has_fewer_devices_than_before() -> None:
    world = World()
    node(world, "a", 4)
    node(world, "a", 1)
    ask(world, "t", count=2)
    assert world.run(PLAIN).placed == {}
    assert world.cluster.nodes.devices.counts(np.array([0])).tolist() == [1]


def test_a_task_that_is_where_no_devices_are_has_none() -> None:
    world = World()
    world.node("plain", more={MILLI: 1000})
    assert ask(world, "lost", at="plain").devices == ()
    world.cluster.validate()
    world.cluster.remove_task("ns/lost")
    world.cluster.validate()
