"""Slots: a place before there is a pod, and one task when the pod comes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.actions.fill_slots import FillSlots
from podium.core.cluster.slots import slot_id
from podium.core.cycle import cycle
from podium.core.model.decisions import Bind, Release, Reserve
from podium.core.model.facts import TaskFacts
from podium.core.model.model import Phase, State, Task
from tests.core.world import NOW, World, profile

SLOT = slot_id("uid", "worker", 0)
PLAIN = profile(["gang", "predicates", "nodeorder"])


@pytest.fixture
def world() -> World:
    found = World()
    for name in "ab":
        found.node(name)
    found.gang("g", minimum=1)
    return found


def facts(id: str, *, cpu: int = 1000, **more: Any) -> TaskFacts:
    return TaskFacts(id, "ns", id, "ns/g", {"cpu": cpu}, role="worker", slot=SLOT, **more)


def listed(world: World, **more: Any) -> Task:
    return world.cluster.slots.put(facts(SLOT, has_pod=False, **more))


def pod(world: World, name: str = "pod", **more: Any) -> Task:
    return world.cluster.put_task(facts(name, **more))


def stands(world: World) -> list[tuple[str, State, str]]:
    """All tasks: who, in what state, on which node."""
    world.cluster.validate()
    nodes = world.cluster.nodes
    return [
        (task.id, task.state, nodes.name(task.row) if task.row >= 0 else "")
        for task in world.cluster.tasks.values()
    ]


def test_a_slot_is_known_by_owner_role_and_index() -> None:
    assert len({slot_id("u", "r", 0), slot_id("u", "r", 1), slot_id("u", "s", 0), slot_id("v", "r", 0)}) == 4


def test_a_slot_is_reserved_where_a_pod_would_be_bound_and_the_pod_is_then_bound_there(world: World) -> None:
    slot = listed(world)
    assert len(world.cluster.slots) == 1
    assert list(world.cluster.slots) == [SLOT]
    world.run(PLAIN)
    assert [each for each in world.decisions if isinstance(each, Reserve)] == [Reserve(SLOT, "a", "ns/g")]
    assert stands(world) == [(SLOT, State.RESERVED, "a")]
    task = pod(world)
    assert stands(world) == [("pod", State.RESERVED, "a")]
    assert world.cluster.slots.get(SLOT) is task is not slot
    world.run(PLAIN)
    assert [each for each in world.decisions if isinstance(each, Bind)] == [Bind("pod", "a", "ns/g", 1)]


def test_the_api_s_word_counts_when_it_is_heard_first_and_not_later(world: World) -> None:
    listed(world, state=State.RESERVED, node="b")
    assert stands(world) == [(SLOT, State.RESERVED, "b")]
    listed(world, state=State.RESERVED, node="a")
    assert stands(world) == [(SLOT, State.RESERVED, "b")]
    listed(world)
    assert stands(world) == [(SLOT, State.RESERVED, "b")]
    world.cluster.assign(world.cluster.tasks[SLOT], State.RESERVED, 0)
    listed(world)
    assert stands(world) == [(SLOT, State.RESERVED, "a")]
    world.cluster.release(world.cluster.tasks[SLOT])
    listed(world, state=State.RESERVED, node="b")
    assert stands(world) == [(SLOT, State.PENDING, "")]


def test_a_place_on_a_node_that_is_not_there_is_none(world: World) -> None:
    listed(world, state=State.RESERVED, node="gone")
    assert stands(world) == [(SLOT, State.PENDING, "")]


def test_a_pod_that_was_there_before_its_slot_was_listed_takes_the_place(world: World) -> None:
    task = pod(world)
    assert listed(world, state=State.RESERVED, node="b") is task
    assert stands(world) == [("pod", State.RESERVED, "b")]
    world.cluster.release(task)
    listed(world, state=State.RESERVED, node="b")  # no news
    assert stands(world) == [("pod", State.PENDING, "")]


def test_a_pod_that_runs_is_not_moved_by_what_its_slot_says(world: World) -> None:
    pod(world, state=State.RUNNING, node="a")
    listed(world, state=State.RESERVED, node="b")
    assert stands(world) == [("pod", State.RUNNING, "a")]


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, State.RESERVED),
        ({"gated": True}, State.PENDING),  # it may not be placed
        ({"cpu": 2000}, State.RESERVED),  # it asks for something else, and the place is large enough
        ({"cpu": 200_000}, State.PENDING),  # it is not
        ({"state": State.RUNNING, "node": "a"}, State.RUNNING),
    ],
)
def test_when_a_pod_takes_over_the_place(world: World, more: dict[str, Any], state: State) -> None:
    listed(world, state=State.RESERVED, node="b")
    assert pod(world, **more).state is state
    assert len(stands(world)) == 1


def test_a_pod_keeps_its_place_when_its_facts_come_again(world: World) -> None:
    listed(world, state=State.RESERVED, node="b")
    pod(world)
    pod(world, priority=7)
    assert stands(world) == [("pod", State.RESERVED, "b")]


def test_a_slot_is_there_again_after_its_pod(world: World) -> None:
    listed(world)
    pod(world)
    world.cluster.remove_task("pod")
    assert len(world.cluster.slots) == 0
    listed(world)
    assert stands(world) == [(SLOT, State.PENDING, "")]


@pytest.mark.parametrize("filled", [False, True])
def test_a_slot_that_is_not_listed_any_more_gives_its_place_back(world: World, filled: bool) -> None:
    listed(world, state=State.RESERVED, node="b")
    if filled:
        pod(world)
    world.cluster.slots.remove(SLOT)
    assert stands(world) == ([("pod", State.PENDING, "")] if filled else [])
    world.cluster.slots.remove(SLOT)  # nothing more to do
    # When it is listed again its word counts again.
    listed(world, state=State.RESERVED, node="a")
    assert [each[1:] for each in stands(world)] == [(State.RESERVED, "a")]


def test_the_first_pod_of_a_slot_speaks_for_it_until_it_has_failed(world: World) -> None:
    first = pod(world)
    second = pod(world, "second")
    assert world.cluster.slots.get(SLOT) is first
    pod(world, state=State.FAILED)
    pod(world, "second")
    assert world.cluster.slots.get(SLOT) is second
    world.cluster.remove_task("pod")
    assert world.cluster.slots.get(SLOT) is second


def test_a_second_pod_has_no_claim_on_the_place_of_the_first(world: World) -> None:
    listed(world, state=State.RESERVED, node="b")
    pod(world)
    pod(world, "second")
    assert stands(world) == [("pod", State.RESERVED, "b"), ("second", State.PENDING, "")]


def test_slots_that_do_not_hold_together_are_found(world: World) -> None:
    task = pod(world)
    world.cluster.slots._tasks["slot/other/worker/0"] = task
    with pytest.raises(AssertionError, match="names"):
        world.cluster.validate()
    del world.cluster.slots._tasks["slot/other/worker/0"]
    del world.cluster.tasks["pod"]
    with pytest.raises(AssertionError, match="not there"):
        world.cluster.slots.validate()
    world.cluster.tasks["pod"] = task
    task.has_pod = False
    world.cluster.slots._tasks.clear()
    with pytest.raises(AssertionError, match="nobody lists"):
        world.cluster.slots.validate()


def test_a_gang_that_cannot_start_as_it_is_holds_nothing(world: World) -> None:
    listed(world, state=State.RESERVED, node="b")
    world.gang("g", minimum=2, phase=Phase.INQUEUE)
    world.run(PLAIN)
    assert [each.task for each in world.decisions if isinstance(each, Release)] == [SLOT]
    assert stands(world) == [(SLOT, State.PENDING, "")]


def test_a_slot_whose_pod_has_failed_does_not_bring_its_queue_above_the_limit(world: World) -> None:
    limited = profile(["gang", "predicates", "capacity", "nodeorder"])
    world.queue("q", capability={"cpu": 1000})
    world.gang("g", minimum=1, queue="q", phase=Phase.RUNNING)
    listed(world, state=State.RESERVED, node="a")
    pod(world, state=State.RUNNING, node="a")
    pod(world, state=State.FAILED, node="a")
    other = world.task("other")
    world.run(limited)
    assert [each.task for each in world.decisions if isinstance(each, Bind)] == [other.id]
    world.cluster.remove_task("pod")
    listed(world, state=State.RESERVED, node="a")  # its owner lists it where it was
    pod(world, "next")
    world.run(limited)
    assert [each for each in world.decisions if isinstance(each, Bind)] == []
    assert [each.why for each in world.decisions if isinstance(each, Release)] == [
        "its queue may not have so much any longer"
    ]
    assert ("next", State.PENDING, "") in stands(world)


# --- pods that come for their slots ------------------------------------------------------------------------------


def grown(world: World, minimum: int) -> tuple[World, Task]:
    """A gang that wants all or nothing: a pod has come for a place that was found, and a slot finds none."""
    gang = world.gang("whole", minimum=minimum, attributes={"placementPolicy": "Gang"})
    world.task("running", gang=gang, at="a")
    slots = [
        TaskFacts(
            slot_id("w", "worker", index),
            "ns",
            f"w-{index}",
            gang,
            {"cpu": cpu},
            slot=slot_id("w", "worker", index),
        )
        for index, cpu in enumerate((1000, 1_000_000))
    ]
    for index, each in enumerate(slots):
        place: dict[str, Any] = {"state": State.RESERVED, "node": "b"} if index == 0 else {}
        world.cluster.slots.put(msgspec.structs.replace(each, has_pod=False, **place))
    came = world.cluster.put_task(msgspec.structs.replace(slots[0], id="pod"))
    assert came.state is State.RESERVED
    return world, came


WHOLE = profile(["gang", {"name": "wholegang", "arguments": {"wholegang.for": "Gang"}}, "predicates"])


def test_a_pod_is_bound_to_its_slot_though_its_gang_waits_for_more(world: World) -> None:
    world, came = grown(world, minimum=2)
    world.run(WHOLE)
    assert [each.task for each in world.decisions if isinstance(each, Bind)] == [came.id]


def test_between_two_turns_pods_are_bound_to_their_slots_and_nothing_else_is_decided(world: World) -> None:
    world, came = grown(world, minimum=2)
    world.task("lone")
    steps = cycle(world.cluster, PLAIN, NOW, actions=(FillSlots(),))
    decisions = [each for step in steps for each in step]
    assert [(type(each), each.task) for each in decisions] == [(Bind, came.id)]  # type: ignore[union-attr]


def test_a_gang_that_has_lost_too_many_places_binds_nobody(world: World) -> None:
    world, came = grown(world, minimum=3)
    world.run(WHOLE)
    assert not [each for each in world.decisions if isinstance(each, Bind)]
    assert came.state is State.RESERVED


def test_a_gang_that_cannot_have_its_lost_places_back_holds_nothing_without_a_pod(world: World) -> None:
    gang = world.gang("j", minimum=2)
    places: list[dict[str, Any]] = [{"state": State.RESERVED, "node": "b"}, {}]
    for index, place in enumerate(places):
        id = slot_id("j", "worker", index)
        cpu = 1000 if index == 0 else 1_000_000
        world.cluster.slots.put(
            TaskFacts(id, "ns", f"j-{index}", gang, {"cpu": cpu}, slot=id, has_pod=False, **place)
        )
    world.run(PLAIN)
    assert [each.task for each in world.decisions if isinstance(each, Release)] == [slot_id("j", "worker", 0)]
    assert {task.state for task in world.cluster.gangs[gang].tasks.values()} == {State.PENDING}
