"""takeback and borrow in the core's own words: who leaves the nodes of a queue, who may use what is idle there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podium.core.model.constraints import Constraints, Port
from podium.core.model.decisions import Evict
from podium.core.profiles.profile import Profile
from tests.core.world import World, profile

TIERS: tuple[Sequence[str | Mapping[str, Any]], ...] = (
    [{"name": "priority", "enablePreemptable": False}, {"name": "gang"}],
    ["predicates", "nodeowner", "nodeorder"],
)


def by(actions: str = "allocate, takeback, borrow", **takeback: Any) -> Profile:
    return profile(*TIERS, actions=actions, arguments={"takeback": takeback})


@pytest.fixture
def world() -> World:
    """Two queues that lend to each other and borrow."""
    world = World()
    for name in ("mine", "theirs"):
        world.queue(name, lends=True, borrows=True)
    return world


# --- taking back -------------------------------------------------------------------------------------------------


def test_a_guest_leaves_for_who_is_at_home(world: World) -> None:
    world.node("a", cpu=1000, queue="mine")
    world.task("guest", at="a", queue="theirs", priority=100)
    world.task("own", queue="mine")
    world.run(by(graceSeconds="7"))
    assert world.evicted == {"guest"}
    assert world.promised == {"own": "a"}
    assert [each.grace for each in world.decisions if isinstance(each, Evict)] == [7]


def test_a_row_where_exactly_enough_guests_leave_is_taken_before_one_of_the_queue_s_own(world: World) -> None:
    for name in ("a", "b"):
        world.node(name, cpu=1000, queue="mine")
    world.task("lower", at="a", queue="mine", priority=0)
    world.task("guest", at="b", queue="theirs", priority=100)
    world.task("own", queue="mine", priority=1)
    world.run(by(maxCandidateNodesAbsolute=1))
    assert world.evicted == {"guest"}


def test_who_pushes_out_nobody_takes_nothing_back(world: World) -> None:
    world.node("a", cpu=1000, queue="mine")
    world.task("guest", at="a", queue="theirs")
    world.task("own", queue="mine", preempts=False)
    world.run(by())
    assert world.evicted == set()


def test_no_more_leave_than_are_needed_and_the_least_important_first(world: World) -> None:
    world.node("a", cpu=4000, queue="mine")
    for number in range(4):
        world.task(f"guest-{number}", at="a", queue="theirs", priority=number, started=float(number))
    world.task("own", queue="mine", cpu=2000)
    world.run(by())
    # Guests count alike whatever their priority; the one that started last goes first.
    assert world.evicted == {"guest-3", "guest-2"}


def test_a_gang_takes_back_for_all_of_its_minimum_or_for_nothing(world: World) -> None:
    world.node("a", cpu=2000, queue="mine")
    for number in range(2):
        world.task(f"guest-{number}", at="a", queue="theirs")
    gang = world.gang("whole", queue="mine", minimum=3)
    for number in range(3):
        world.task(f"whole-{number}", gang=gang)
    world.run(by())
    assert world.evicted == set()


def test_a_gang_that_can_spare_nobody_leaves_whole(world: World) -> None:
    for name in ("a", "b"):
        world.node(name, cpu=1000, queue="mine")
    gang = world.gang("pair", queue="theirs", minimum=2)
    world.task("pair-0", at="a", gang=gang)
    world.task("pair-1", at="b", gang=gang)
    world.task("own", queue="mine")
    world.run(by())
    assert world.evicted == {"pair-0", "pair-1"}


def test_where_more_than_room_counts_only_who_is_in_the_way_leaves(world: World) -> None:
    world.node("a", cpu=8000, queue="mine")
    for name in ("first", "last"):
        world.task(name, at="a", queue="theirs")
    world.task("in-the-way", Constraints(ports=(Port(80),)), at="a", queue="theirs")
    world.task("own", Constraints(ports=(Port(80),)), queue="mine")
    world.run(by())
    assert world.evicted == {"in-the-way"}
    assert world.promised == {"own": "a"}


def test_where_nobody_who_may_go_is_in_the_way_nobody_goes(world: World) -> None:
    world.node("a", cpu=8000, queue="mine")
    world.task("guest", at="a", queue="theirs")
    world.task("stays", Constraints(ports=(Port(80),)), at="a", queue="mine", priority=9)
    world.task("own", Constraints(ports=(Port(80),)), queue="mine", priority=5)
    world.run(by())
    assert world.evicted == set()
    assert {task.name for task in world.cluster.tasks.values() if task.row >= 0} == {"guest", "stays"}


# --- borrowing ---------------------------------------------------------------------------------------------------


def test_idle_nodes_of_others_are_borrowed_and_nobody_is_pushed_out_there(world: World) -> None:
    for name in ("a", "b"):
        world.node(name, cpu=1000, queue="theirs")
    world.task("there", at="a", queue="theirs", priority=-5)
    for number in range(2):
        world.task(f"own-{number}", queue="mine", priority=5)
    world.run(by())
    assert list(world.placed.values()) == ["b"]
    assert world.evicted == set()


def test_who_has_waiting_tasks_of_its_own_for_the_room_lends_none(world: World) -> None:
    world.node("a", cpu=1000, queue="theirs")
    world.task("big", queue="theirs", cpu=1000, gated=True)
    world.task("own", queue="mine")
    assert world.run(by()).placed == {"own": "a"}  # a gated task waits for nobody's room
    world.cluster.remove_task("ns/own")
    world.task("small", queue="theirs", cpu=1000)
    world.task("again", queue="mine")
    assert world.run(by()).placed == {"small": "a"}


def test_a_gang_borrows_whole_from_one_lender(world: World) -> None:
    world.queue("others", lends=True)
    world.node("a", cpu=1000, queue="theirs")
    world.node("b", cpu=1000, queue="others")
    gang = world.gang("pair", queue="mine", minimum=2)
    for number in range(2):
        world.task(f"pair-{number}", gang=gang)
    assert world.run(by()).placed == {}
    world.node("c", cpu=1000, queue="others")
    assert set(world.run(by()).placed.values()) == {"b", "c"}


def test_of_equal_lenders_the_one_with_fewer_tasks(world: World) -> None:
    world.queue("others", lends=True)
    world.node("a", cpu=2000, queue="others")
    world.task("busy", at="a", queue="others")
    world.node("b", cpu=1000, queue="theirs")
    world.task("own", queue="mine")
    assert world.run(by()).placed == {"own": "b"}


def test_only_who_lends_lends_and_only_from_whom_one_may(world: World) -> None:
    world.queue("closed", lends=False)
    world.queue("picky", borrows=True, lenders=("closed",))
    world.node("a", cpu=1000, queue="theirs")
    world.node("b", cpu=1000, queue="closed")
    world.task("own", queue="picky")
    assert world.run(by()).placed == {}
    world.queue("closed", lends=True)
    assert world.run(by()).placed == {"own": "b"}
