"""Volumes that are promised once, claims that are shared, and claims that only one task may use."""

from __future__ import annotations

import random

import pytest

from podium.core.model.constraints import Claim, Constraints, NodeTerm, Requirement, Sharing, VolumeOption
from podium.core.model.model import State
from tests.core.world import HOST, World, profile

GANGS = profile(["gang"], ["predicates"])
PREEMPTION = profile(["priority", "gang"], ["predicates"], actions="allocate, preempt")


def on(*nodes: str) -> tuple[NodeTerm, ...]:
    return (NodeTerm((Requirement(HOST, "In", nodes),)),)


def local(*names: str) -> tuple[VolumeOption, ...]:
    """Volumes called `<node>-<anything>`, each reached from its node only."""
    return tuple(VolumeOption(on(name.partition("-")[0]), 0.0, name) for name in names)


def wants(*options: VolumeOption, **claim: object) -> Constraints:
    return Constraints(claims=(Claim(options, open=True, **claim),))  # type: ignore[arg-type]


def cluster(*nodes: str) -> World:
    world = World()
    for name in nodes:
        world.node(name)
    return world


def test_a_gang_is_spread_over_the_nodes_that_have_a_volume_for_each() -> None:
    world = cluster("a", "b", "c")
    gang = world.gang("g", minimum=3)
    for index in range(3):
        world.task(f"t{index}", wants(*local("a-1", "b-1", "c-1")), gang=gang)
    assert sorted(world.run(GANGS).placed.values()) == ["a", "b", "c"]
    chosen = {world.cluster.claims.chosen(task) for task in world.cluster.tasks.values()}
    assert chosen == {("a-1",), ("b-1",), ("c-1",)}


def test_a_gang_for_which_there_are_too_few_volumes_gets_none() -> None:
    world = cluster("a", "b", "c")
    gang = world.gang("g", minimum=3)
    for index in range(3):
        world.task(f"t{index}", wants(*local("a-1", "b-1")), gang=gang)
    assert world.run(GANGS).placed == {}
    assert "node(s) reached no volume that is still free" in world.refusal("g")
    assert not world.cluster.claims.chosen(world.cluster.tasks["ns/t0"]), "nothing stays promised"


def test_the_first_option_that_is_free_is_taken() -> None:
    world = cluster("a")
    first = world.task("first", wants(*local("a-small", "a-large"), VolumeOption()))
    second = world.task("second", wants(*local("a-small", "a-large"), VolumeOption()))
    third = world.task("third", wants(*local("a-small", "a-large"), VolumeOption()))
    assert len(world.run(GANGS).placed) == 3
    chosen = [world.cluster.claims.chosen(each) for each in (first, second, third)]
    assert sorted(chosen) == [("",), ("a-large",), ("a-small",)], "the third gets one that is made"


def test_two_claims_of_one_task_take_two_volumes() -> None:
    world = cluster("a", "b")
    both = (*local("a-1"), *local("b-1", "b-2"))
    task = world.task("t", Constraints(claims=(Claim(both, open=True), Claim(both, open=True))))
    assert world.run(GANGS).placed == {"t": "b"}, "each claim alone would have done on the other node"
    assert world.cluster.claims.chosen(task) == ("b-1", "b-2")


def test_a_volume_given_back_is_free_again() -> None:
    world = cluster("a")
    task = world.task("t", wants(*local("a-1")))
    world.run(GANGS)
    world.cluster.assign(task, State.PENDING, -1)
    world.cluster.remove_task(task.id)
    world.task("other", wants(*local("a-1")))
    assert world.run(GANGS).placed == {"other": "a"}


def test_what_is_chosen_for_one_user_of_a_claim_is_chosen_for_all() -> None:
    world = cluster("a", "b")
    shared = wants(*local("a-1", "b-1"), key="ns/c", sharing=Sharing.NODES)
    one, other = world.task("one", shared), world.task("other", shared)
    world.run(GANGS)
    assert len(set(world.placed.values())) == 1, "both reach the volume"
    assert world.cluster.claims.chosen(one) == world.cluster.claims.chosen(other)
    world.task("third", wants(*local("a-1", "b-1")))
    assert set(world.run(GANGS).placed.values()) == {"a", "b"} - {world.cluster.nodes.name(one.row)}


@pytest.mark.parametrize(("sharing", "nodes"), [(Sharing.NODE, 1), (Sharing.NODES, 2)])
def test_a_volume_that_is_made_for_several_tasks(sharing: Sharing, nodes: int) -> None:
    world = cluster("a", "b")
    for name in ("one", "other"):
        world.task(name, wants(VolumeOption(), key="ns/c", sharing=sharing), cpu=6000)
    placed = world.run(GANGS).placed
    assert len(placed) == nodes, "they do not fit on one node together"


def test_a_claim_for_one_task_only() -> None:
    world = cluster("a", "b")
    alone = Constraints(claims=(Claim((VolumeOption(),), key="ns/c", sharing=Sharing.TASK),))
    world.task("one", alone)
    world.task("other", alone)
    assert len(world.run(GANGS).placed) == 1
    reported = " ".join(world.refusal(name) for name in ("one", "other"))
    assert "another pod uses a volume claim that only one pod may use" in reported


def test_preemption_takes_such_a_claim_over() -> None:
    world = cluster("a")
    alone = Constraints(claims=(Claim((VolumeOption(),), key="ns/c", sharing=Sharing.TASK),))
    world.task("low", alone, at="a", priority=1)
    world.task("high", alone, priority=10, gang_priority=10)
    world.run(PREEMPTION)
    assert world.evicted == {"low"}
    assert world.promised == {"high": "a"}


def test_no_history_promises_a_volume_twice() -> None:
    """Places are taken and given back in random order; what is promised is always what tasks hold."""
    for seed in range(30):
        dice = random.Random(seed)
        world = cluster("a", "b", "c")
        names = [f"{node}-{index}" for node in "abc" for index in range(dice.randint(0, 3))]
        tasks = [
            world.task(f"t{index}", wants(*local(*sorted(dice.sample(names, dice.randint(0, len(names)))))))
            for index in range(8)
        ]
        for _ in range(10):
            world.run(GANGS)
            taken = [volume for task in tasks for volume in world.cluster.claims.chosen(task) if volume]
            assert len(taken) == len(set(taken)), taken
            for task in tasks:
                for volume in world.cluster.claims.chosen(task):
                    assert volume.startswith(world.cluster.nodes.name(task.row))
            for task in dice.sample(tasks, 3):
                world.cluster.assign(task, State.PENDING, -1)
