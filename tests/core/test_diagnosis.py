"""What a gang is told: with its members where it has any, and that it can never start where that is so."""

from __future__ import annotations

import pytest

from podium.core.model.decisions import Nominate
from podium.core.model.model import Phase, Queue, State
from podium.reasons import NO_NODES, refuse
from tests.core.world import World, profile

PLAIN = profile(["gang", "predicates"])


def refused(members: int, minimum: int, *, cpu: int = 1000, room: int = 3000) -> str:
    """What a gang is told on a node with so much room."""
    world = World()
    world.node("n", cpu=room)
    gang = world.gang("g", minimum=minimum)
    for index in range(members):
        world.task(f"g-{index}", gang=gang, cpu=cpu)
    return world.run(PLAIN).refusal("g")


def test_a_gang_that_needs_more_than_there_is_can_never_start() -> None:
    assert "4 members need 4 cpu, and the cluster has 3 in all: it can never start" in refused(4, 4)
    assert "never" not in refused(4, 3)  # three of four are enough
    assert "5 members need 5 cpu" in refused(6, 5)


@pytest.mark.parametrize(("small", "never"), [(500, True), (200, False)])
def test_of_different_members_the_smallest_count(small: int, never: bool) -> None:
    world = World()
    world.node("n", cpu=2000)
    world.task("there", at="n", cpu=500)
    gang = world.gang("g", minimum=3)
    for index, cpu in enumerate((800, 900, small, 5000)):
        world.task(f"g-{index}", gang=gang, cpu=cpu)
    assert ("never" in world.run(PLAIN).refusal("g")) == never


def test_one_that_lacks_a_single_member_is_told_of_that_member() -> None:
    world = World()
    world.node("n", cpu=2000)
    gang = world.gang("g", minimum=2)
    world.task("g-0", gang=gang, at="n")
    world.task("g-1", gang=gang, cpu=5000)
    reported = world.run(PLAIN).refusal("g")
    assert "members need" not in reported
    lone = World()
    lone.node("n", cpu=2000)
    lone.task("t", cpu=5000)
    assert "of 1" not in lone.run(PLAIN).refusal("t")


# --- promises ----------------------------------------------------------------------------------------------------


def test_a_promise_that_is_not_made_again_is_none_any_more() -> None:
    world = World()
    world.node("n", cpu=1000)
    world.task("leaving", at="n", state=State.RELEASING)
    world.task("t")
    assert world.run(PLAIN).promised == {"t": "n"}
    assert world.run(PLAIN).promised == {"t": "n"}
    assert world.cluster.tasks["ns/t"].nominated == 0
    world.task("leaving", at="n")  # it stays after all
    world.run(PLAIN)
    assert [each for each in world.decisions if isinstance(each, Nominate)] == [Nominate("ns/t", "")]
    assert world.cluster.tasks["ns/t"].nominated == -1
    world.run(PLAIN)
    assert world.promised == {}


def test_two_that_are_missing_are_enough_to_say_never() -> None:
    assert "2 members need 4 cpu, and the cluster has 3 in all: it can never start" in refused(2, 2, cpu=2000)


def test_a_gang_that_can_never_be_scheduled_as_it_is_says_so_whoever_is_asked() -> None:
    world = World()
    world.node("n")
    gang = world.gang("g", fault=refuse(NO_NODES))
    world.task("t", gang=gang)
    world.run(profile(["predicates"]))
    assert world.placed == {}
    assert world.refusal("g") == str(refuse(NO_NODES))


@pytest.mark.parametrize(("name", "said"), [("parent", "parent"), ("", "id-of-it")])
def test_a_queue_that_has_children_takes_no_gangs_and_is_named(name: str, said: str) -> None:
    world = World()
    world.node("n")
    world.cluster.put_queue(Queue("root", "root"))
    world.cluster.put_queue(Queue("id-of-it", name, parent="root"))
    world.cluster.put_queue(Queue("child", "child", parent="id-of-it"))
    world.gang("g", queue="id-of-it", phase=Phase.PENDING)
    world.task("t", gang="ns/g")
    by = profile(
        ["gang", {"name": "capacity", "enableHierarchy": True}, "predicates"], actions="enqueue, allocate"
    )
    world.run(by)
    assert world.placed == {}
    assert said in world.refusal("g")
