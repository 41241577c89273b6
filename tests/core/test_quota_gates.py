"""Gates that stand for a queue's quota: lifted when the queue has room, whatever the nodes."""

from __future__ import annotations

from podium.core.model.decisions import Ungate
from podium.core.model.model import QuotaGate
from tests.core.world import World, profile

CAPACITY = profile(["gang"], ["capacity", "predicates"])


def lifted(world: World) -> list[str]:
    world.run(CAPACITY)
    return sorted(each.task.removeprefix("ns/") for each in world.decisions if isinstance(each, Ungate))


def behind_gates(world: World, gang: str, count: int, minimum: int, cpu: int = 1000) -> None:
    id = world.gang(gang, queue="small", minimum=minimum)
    for index in range(count):
        world.task(f"{gang}-{index}", gang=id, cpu=cpu, gated=True, quota_gated=True)


def small_queue(cpu: int = 4000) -> World:
    world = World()
    world.queue("small", capability={"cpu": cpu})
    return world


def test_a_queue_with_room_lifts_the_gates_of_a_whole_gang() -> None:
    world = small_queue()
    behind_gates(world, "g", 3, minimum=3)
    assert lifted(world) == ["g-0", "g-1", "g-2"], "though there is no node at all"
    assert lifted(world) == [], "and says so once"
    assert {task.quota_gate for task in world.cluster.tasks.values()} == {QuotaGate.OPENING}


def test_a_queue_without_room_lifts_none_and_names_its_limit() -> None:
    world = small_queue()
    behind_gates(world, "g", 5, minimum=5)
    assert lifted(world) == []
    assert "queue small holds 4 of its capability of 4 cpu, and 1 more would be too much" in world.refusal("g")


def test_what_was_let_through_counts_though_it_has_no_place() -> None:
    world = small_queue()
    behind_gates(world, "first", 3, minimum=3)
    assert lifted(world) == ["first-0", "first-1", "first-2"]
    behind_gates(world, "second", 3, minimum=3)
    assert lifted(world) == []
    for index in range(3):
        world.task(f"first-{index}", gang="ns/first")
    assert lifted(world) == [], "also when the gates are seen to be gone"
    for index in range(3):
        world.cluster.remove_task(f"ns/first-{index}")
    assert lifted(world) == ["second-0", "second-1", "second-2"]


def test_two_gangs_of_one_turn_share_the_room() -> None:
    world = small_queue()
    for name in ("a", "b", "c"):
        behind_gates(world, name, 2, minimum=2)
    assert len(lifted(world)) == 4


def test_beyond_the_minimum_as_far_as_there_is_room() -> None:
    world = small_queue()
    behind_gates(world, "g", 6, minimum=2)
    assert lifted(world) == ["g-0", "g-1", "g-2", "g-3"]


def test_other_gates_stay() -> None:
    world = small_queue()
    id = world.gang("g", queue="small")
    world.task("t", gang=id, gated=True)
    assert lifted(world) == []


def test_a_gang_that_is_not_valid_stays_behind_its_gates() -> None:
    world = small_queue()
    behind_gates(world, "g", 1, minimum=2)
    assert lifted(world) == []
    assert "needs 2 members and has 1" in world.refusal("g")
