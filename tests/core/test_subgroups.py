"""Groups inside a gang: who belongs to which, and placing them whole or not at all."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.framework.plugin import Vote
from podium.core.model.constraints import Requirement
from podium.core.model.model import State, SubGroupPolicy, Task
from podium.core.model.subgroups import subgroups_of
from tests.core.world import World, profile

PLAIN = profile(["priority", "gang"], ["predicates", "nodeorder"])
WORKERS = (Requirement("part", "In", ("worker",)),)


def policy(**how: Any) -> SubGroupPolicy:
    return SubGroupPolicy(**{"name": "replicas", "keys": ("replica",), **how})


def members(world: World, gang: str, **replicas: int) -> list[Task]:
    """So many members of each replica, in this order."""
    return [
        world.task(f"{name}-{index}", gang=gang, labels={"replica": name.removeprefix("r"), "part": "worker"})
        for name, count in replicas.items()
        for index in range(count)
    ]


def placed(world: World) -> dict[str, int]:
    """How many members of each replica have a place now."""
    return dict(Counter(name.rpartition("-")[0] for name in world.placed))


# --- who belongs where -------------------------------------------------------------------------------------------


def names(world: World, gang: str) -> dict[str, list[str]]:
    return {
        group.id.removeprefix(f"{gang}/"): [task.name for task in group.tasks]
        for group in subgroups_of(world.cluster.gangs[gang])
    }


def test_labels_tell_groups_apart_and_the_first_policy_that_matches_counts() -> None:
    world = World()
    rest = SubGroupPolicy("rest", selector=(Requirement("part", "Exists"),))
    gang = world.gang("g", policies=(policy(selector=WORKERS), rest))
    members(world, gang, r0=1, r1=2)
    world.task("master", gang=gang, labels={"part": "master"})
    world.task("odd", gang=gang, labels={"replica": "0"})
    world.task("worker", gang=gang, labels={"part": "worker"})
    assert names(world, gang) == {
        "replicas-0": ["r0-0"],
        "replicas-1": ["r1-0", "r1-1"],
        "rest-": ["master", "worker"],  # without the label that tells workers apart the next policy is asked
        "-": ["odd"],
    }


def test_a_policy_that_says_nothing_is_about_nobody() -> None:
    world = World()
    gang = world.gang("g", policies=(SubGroupPolicy("all", size=9),))
    world.task("t", gang=gang)
    assert names(world, gang) == {"-": ["t"]}
    world.node("n")
    assert world.run(PLAIN).placed == {"t": "n"}


def test_a_gang_without_policies_has_no_groups() -> None:
    world = World()
    gang = world.gang("g")
    world.task("t", gang=gang)
    assert names(world, gang) == {}


# --- whole or not at all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (6, {"r0": 2, "r1": 2, "r2": 2}),
        (5, {"r0": 2, "r1": 2}),  # one more would be half a group
        (4, {"r0": 2, "r1": 2}),
        (3, {}),  # two groups are required
    ],
)
def test_groups_are_placed_whole(room: int, expected: dict[str, int]) -> None:
    world = World()
    world.node("n", cpu=room * 1000)
    gang = world.gang("g", minimum=2, policies=(policy(size=2, minimum=2),))
    members(world, gang, r0=2, r1=2, r2=2)
    assert placed(world.run(PLAIN)) == expected


def test_the_whole_gangs_minimum_counts_as_well() -> None:
    world = World()
    world.node("n", cpu=5000)
    gang = world.gang("g", minimum=6, policies=(policy(size=2, minimum=1),))
    members(world, gang, r0=2, r1=2, r2=2)
    assert placed(world.run(PLAIN)) == {}
    assert "5 of 6 members" not in world.refusal("g")
    assert "4 of 6 members could be placed" in world.refusal("g")


def test_groups_that_are_missing_are_told() -> None:
    world = World()
    world.node("n")
    gang = world.gang("g", policies=(policy(size=2, minimum=3),))
    members(world, gang, r0=2, r1=2)
    assert world.run(PLAIN).placed == {}
    assert world.refusal("g") == "the gang needs 3 sub-groups of policy replicas and has 2"


def test_a_group_that_cannot_be_whole_leaves_its_room_to_the_next() -> None:
    world = World()
    world.node("small", cpu=2000)
    world.node("large", cpu=2000, labels={"disk": "ssd"})
    gang = world.gang("g", minimum=2, policies=(policy(size=2, minimum=1),))
    for index, cpu in enumerate((1500, 1500, 1000, 1000, 1000)):
        world.task(f"r{index // 2}-{index}", gang=gang, cpu=cpu, labels={"replica": str(min(index // 2, 1))})
    # Both of replica 0 fit, on a node each; what is left is too small for one of replica 1.
    assert placed(world.run(PLAIN)) == {"r0": 2}


def test_numbered_groups_go_in_their_order() -> None:
    world = World()
    world.node("n", cpu=2000)
    gang = world.gang("g", policies=(policy(size=2, minimum=1),))
    members(world, gang, r10=2, r9=2)
    assert placed(world.run(PLAIN)) == {"r9": 2}


@pytest.mark.argument("switch", "enabledSubJobOrder")
def test_a_more_important_group_goes_first() -> None:
    world = World()
    world.node("n", cpu=2000)
    gang = world.gang("g", policies=(policy(size=2, minimum=1),))
    members(world, gang, r0=2)
    for index in range(2):
        world.task(f"r1-{index}", gang=gang, priority=index, labels={"replica": "1"})
    assert placed(world.run(PLAIN)) == {"r1": 2}
    off = profile(
        [{"name": "priority", "enabledSubJobOrder": False}, {"name": "gang", "enabledSubJobOrder": False}],
        ["predicates", "nodeorder"],
    )
    for task in world.cluster.tasks.values():
        world.cluster.assign(task, State.PENDING, -1)
    assert placed(world.run(off)) == {"r0": 2}


def test_what_runs_already_counts_and_the_rest_of_a_whole_group_comes_one_by_one() -> None:
    world = World()
    world.node("n", cpu=4000)
    gang = world.gang("g", minimum=2, policies=(policy(size=2, minimum=1),))
    for index in range(2):
        world.task(f"r0-{index}", gang=gang, at="n", labels={"replica": "0"})
    world.task("r0-2", gang=gang, labels={"replica": "0"})
    members(world, gang, r1=2)
    # The group that is not whole goes first, and then there is no room for the third of the other.
    assert placed(world.run(PLAIN)) == {"r1": 2}


def test_members_that_no_policy_is_about_need_no_company() -> None:
    world = World()
    world.node("n", cpu=3000)
    gang = world.gang("g", minimum=2, policies=(policy(size=2, minimum=1),))
    members(world, gang, r0=2)
    world.task("master", gang=gang)
    assert len(world.run(PLAIN).placed) == 3


def test_promised_places_make_a_group_whole() -> None:
    world = World()
    world.node("n", cpu=2000)
    world.task("old", at="n", cpu=1000, state=State.RELEASING)
    gang = world.gang("g", minimum=2, policies=(policy(size=2, minimum=1),))
    members(world, gang, r0=2)
    assert set(world.run(PLAIN).promised) == {"r0-0", "r0-1"}
    assert world.placed == {}


def test_what_the_plugin_says_of_a_group() -> None:
    world = World()
    world.node("n", cpu=1000)
    gang = world.gang("g", policies=(policy(size=2, minimum=1),))
    world.task("r0-0", gang=gang, at="n", labels={"replica": "0"})
    members(world, gang, r1=1)
    session = world.session(PLAIN)
    plugin = session.tiers("sub_job_ready")[0][0]
    halves = session.subgroups(world.cluster.gangs[gang])
    assert [plugin.sub_job_ready(group) for group in halves] == [False, False]
    assert [plugin.sub_job_shortfall(group) for group in halves] == [1, 2]
    assert [plugin.sub_job_pipelined(group) for group in halves] == [Vote.REJECT, Vote.REJECT]


@pytest.mark.argument("switch", "enabledSubJobReady")
@pytest.mark.argument("switch", "enabledSubJobPipelined")
@pytest.mark.parametrize(
    ("off", "expected"),
    [
        ([], 2),
        (["enabledSubJobReady"], 3),  # then any member may be kept
        (["enabledSubJobPipelined"], 3),  # then any member may have the promise of being kept
    ],
)
def test_without_its_say_on_groups_the_gang_plugin_only_counts_members(off: list[str], expected: int) -> None:
    world = World()
    world.node("n", cpu=3000)
    gang = world.gang("g", minimum=1, policies=(policy(size=2),))
    members(world, gang, r0=2, r1=2)
    by = profile([{"name": "gang", **dict.fromkeys(off, False)}], ["predicates"])
    assert len(world.run(by).placed) == expected


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(0, 8),
)
def test_what_is_placed_is_whole(
    room: list[int], sizes: list[int], size: int, required: int, minimum: int
) -> None:
    world = World()
    for index, cores in enumerate(room):
        world.node(f"n{index}", cpu=cores * 1000)
    gang = world.gang("g", minimum=minimum, policies=(policy(size=size, minimum=required),))
    members(world, gang, **{f"r{index}": count for index, count in enumerate(sizes)})
    counts = placed(world.run(PLAIN))
    assert all(count >= size for count in counts.values())
    assert not counts or (len(counts) >= required and sum(counts.values()) >= minimum)
    # Nothing is left out that could have been placed: all members ask for the same.
    whole = [count for count in sizes if count >= size]
    if len(whole) >= required and size * max(1, required) <= sum(room) and minimum <= size and whole:
        assert counts
