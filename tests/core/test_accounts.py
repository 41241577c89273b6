"""What gangs, queues and namespaces hold and wait for, after every change that can move one of the sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podium.core.cluster.accounts import Accounts, Demand
from podium.core.model.model import Mode, Phase, Size, State, Task
from podium.core.model.resources import LIMIT
from tests.core.world import GIB, World


def world() -> World:
    found = World()
    found.node("n")
    return found


def cpu(world: World, sums: dict[int, int]) -> int:
    column = world.cluster.dimensions.find("cpu")
    assert column is not None
    return sums.get(column, 0)


def account(world: World, queue: str = "q") -> dict[str, int]:
    """A queue's sums of CPU, after they were brought up to date."""
    world.cluster.settle()
    world.cluster.validate()
    found = world.cluster.accounts.queues[queue]
    return {
        "gangs": found.gangs,
        "held": cpu(world, found.allocated),
        "waiting": cpu(world, found.waiting),
        "let_in": cpu(world, found.inqueue),
        "elastic": cpu(world, found.elastic),
    }


def put(world: World, name: str, states: list[State], gang: str = "g", **facts: Any) -> list[Task]:
    found = []
    for index, state in enumerate(states):
        at = "" if state in (State.PENDING, State.SUCCEEDED, State.FAILED) else "n"
        found.append(world.task(f"{name}-{index}", gang=f"ns/{gang}", at=at, state=state, **facts))
    return found


PENDING, RUNNING, RESERVED = State.PENDING, State.RUNNING, State.RESERVED


@pytest.mark.parametrize("state", State)
def test_what_a_task_counts_for(state: State) -> None:
    found = world()
    found.gang("g")
    put(found, "t", [state])
    held = {State.ALLOCATED, State.BINDING, State.BOUND, RUNNING, RESERVED}
    sums = account(found)
    assert sums["held"] == (1000 if state in held else 0)
    assert sums["waiting"] == (1000 if state is PENDING else 0)


def test_a_gang_that_changes_its_queue_takes_its_sums_along_and_one_that_goes_leaves_what_is_held() -> None:
    found = world()
    found.queue("other")
    found.gang("g")
    tasks = put(found, "t", [RUNNING, RUNNING, PENDING])
    both = {"gangs": 1, "held": 2000, "waiting": 1000, "let_in": 0, "elastic": 2000}
    nothing = dict.fromkeys(both, 0)
    assert account(found) == both
    assert cpu(found, found.cluster.accounts.namespaces["ns"]) == 2000
    found.gang("g", queue="other")
    assert account(found) == nothing
    assert account(found, "other") == both
    assert cpu(found, found.cluster.accounts.namespaces["ns"]) == 2000
    found.cluster.remove_gang("ns/g")
    held = {**nothing, "held": 2000}
    assert account(found, "other") == nothing
    assert account(found, "") == held, "its tasks are still there, and nothing of it is scheduled"
    assert cpu(found, found.cluster.accounts.namespaces["ns"]) == 2000
    found.cluster.put_stranger("ns/g", "other", "")
    assert account(found, "") == nothing
    assert account(found, "other") == held
    for task in tasks:
        found.cluster.remove_task(task.id)
    assert account(found, "other") == nothing
    assert cpu(found, found.cluster.accounts.namespaces["ns"]) == 0


def test_those_who_wait_for_a_group_that_is_not_there_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands may come one after the other, and none of them is placed before the group is there."""
    found = world()
    tasks = put(found, "t", [PENDING, PENDING], "nobody")
    monkeypatch.setattr(Accounts, "account", None)
    found.cluster.settle()
    monkeypatch.undo()
    found.cluster.remove_task(tasks[0].id)
    found.cluster.settle()
    found.cluster.validate()


def test_two_gangs_of_a_queue_are_added() -> None:
    found = world()
    for name in ("g", "h"):
        found.gang(name)
        put(found, name, [RUNNING, PENDING], name)
    assert account(found) == {"gangs": 2, "held": 2000, "waiting": 2000, "let_in": 0, "elastic": 2000}


# --- minimums ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "running", "inqueue", "elastic"),
    [
        (Phase.PENDING, 0, 0, 0),
        (Phase.INQUEUE, 0, 3000, 0),
        (Phase.INQUEUE, 1, 2000, 0),
        (Phase.INQUEUE, 3, 0, 0),
        (Phase.INQUEUE, 4, 0, 1000),
        (Phase.RUNNING, 1, 0, 0),  # it is not whole: what has finished will not ask again
        (Phase.RUNNING, 2, 1000, 0),
        (Phase.RUNNING, 4, 0, 1000),
        (Phase.UNKNOWN, 1, 0, 0),
    ],
)
def test_what_an_admitted_gang_may_still_take_and_what_is_beyond_its_minimum(
    phase: Phase, running: int, inqueue: int, elastic: int
) -> None:
    found = world()
    found.gang("g", minimum=2, phase=phase, minimum_resources={"cpu": 3000})
    put(found, "t", [RUNNING] * running + [PENDING])
    sums = account(found)
    assert (sums["let_in"], sums["elastic"]) == (inqueue, elastic)


def test_a_resource_that_gets_its_name_later_counts_from_then_on() -> None:
    found = world()
    gang = found.cluster.gangs[found.gang("g")]
    gang.minimum_resources = {"example.com/new": 4}  # as if read before anybody had spoken of it
    gang.note()
    account(found)
    assert found.cluster.dimensions.find("example.com/new") is None
    column = found.cluster.dimensions.column("example.com/new")
    assert account(found)["gangs"] == 1
    assert found.cluster.accounts.queues["q"].inqueue == {column: 4}


def test_minimums_out_of_bounds_are_cut() -> None:
    found = world()
    found.gang("g", minimum_resources={"cpu": -5, "memory": 2 * LIMIT})
    account(found)
    (sums,) = [found.cluster.accounts.queues["q"].inqueue]
    memory = found.cluster.dimensions.find("memory")
    assert sums == {memory: LIMIT}


# --- who has something to be decided on -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "facts", "active", "split"),
    [
        ([RUNNING], {}, False, False),
        ([PENDING], {}, True, False),
        ([RESERVED], {}, True, False),
        ([RUNNING], {"phase": Phase.PENDING}, True, False),
        ([RUNNING], {"size": Size(1, 2, 1)}, True, False),
        ([RUNNING, PENDING], {}, True, True),
        ([RESERVED, PENDING], {}, True, False),
        ([RUNNING, State.SUCCEEDED], {}, False, False),
    ],
)
def test_gangs_that_are_active_and_split(
    states: list[State], facts: dict[str, Any], active: bool, split: bool
) -> None:
    found = world()
    found.gang("g", **facts)
    put(found, "t", states)
    found.cluster.settle()
    accounts = found.cluster.accounts
    assert ("ns/g" in accounts.active, "ns/g" in accounts.split) == (active, split)
    for task in list(found.cluster.tasks):
        found.cluster.remove_task(task)
    found.gang("g")
    found.cluster.settle()
    assert not accounts.active
    assert not accounts.split


def test_gangs_that_start_together_are_known() -> None:
    found = world()
    found.gang("g", together=("ns/h",))
    found.gang("h")
    found.cluster.settle()
    assert list(found.cluster.accounts.tied) == ["ns/g"]
    found.gang("g")
    found.cluster.settle()
    assert not found.cluster.accounts.tied


# --- lines -------------------------------------------------------------------------------------------------------


def lines(world: World) -> dict[Demand, list[str]]:
    world.cluster.settle()
    world.cluster.validate()
    return {demand: sorted(gangs) for demand, gangs in world.cluster.accounts.equal_demand.items()}


def test_gangs_that_ask_for_the_same_stand_in_one_line() -> None:
    found = world()
    for name in ("g", "h"):
        found.gang(name, minimum=2)
        put(found, name, [PENDING, PENDING], name)
    found.gang("more", minimum=3)
    put(found, "more", [PENDING] * 3, "more")
    found.gang("started", minimum=1)
    started = put(found, "started", [RUNNING, PENDING], "started")
    cls = started[1].cls
    assert lines(found) == {
        Demand("", "q", "ns", cls, 2, True): ["ns/g", "ns/h"],
        Demand("", "q", "ns", cls, 3, True): ["ns/more"],
        Demand("", "q", "ns", cls, 1, False): ["ns/started"],
    }
    found.cluster.remove_gang("ns/h")
    found.cluster.remove_gang("ns/more")
    assert list(lines(found).values()) == [["ns/g"], ["ns/started"]]


@pytest.mark.parametrize(
    ("facts", "members"),
    [
        ({"phase": Phase.PENDING}, [{}]),  # it has not been let in
        ({}, [{}, {"memory": 2 * GIB}]),  # of two classes
        ({}, [{"gated": True}]),  # nobody waits for room
        ({"mode": Mode.NON_STRICT}, [{}]),  # it keeps whatever it finds
        ({"together": ("ns/h",)}, [{}]),  # others wait for it
    ],
)
def test_who_stands_in_no_line(facts: dict[str, Any], members: list[dict[str, Any]]) -> None:
    found = world()
    found.gang("g", **facts)
    for index, each in enumerate(members):
        found.task(f"t-{index}", gang="ns/g", **each)
    assert lines(found) == {}


def test_a_task_that_is_held_back_does_not_make_a_second_class() -> None:
    found = world()
    found.gang("g")
    found.task("t", gang="ns/g")
    found.task("u", gang="ns/g", memory=2 * GIB, gated=True)
    assert list(lines(found).values()) == [["ns/g"]]


# --- the check ---------------------------------------------------------------------------------------------------


def test_every_kind_of_difference_is_found() -> None:
    def afresh() -> tuple[World, Accounts]:
        found = world()
        found.gang("g")
        put(found, "t", [RUNNING, PENDING])
        found.cluster.settle()
        return found, found.cluster.accounts

    found, accounts = afresh()
    assert found.cluster.recount_accounts() == 0
    accounts.queues["q"].waiting[0] = 7
    assert found.cluster.recount_accounts() == 1
    assert found.cluster.accounts is not accounts, "the truth counts from now on"
    assert found.cluster.recount_accounts() == 0
    spoils: list[Callable[[Accounts], object]] = [
        lambda accounts: accounts.queues["q"].inqueue.update({0: 7}),
        lambda accounts: accounts.queues["q"].elastic.update({0: 7}),
        lambda accounts: accounts.queues["q"].allocated.clear(),
        lambda accounts: accounts.namespaces["ns"].update({0: 7}),
        lambda accounts: accounts.namespaces.update({"gone": {0: 7}}),
        lambda accounts: accounts.active.clear(),
        lambda accounts: accounts.split.clear(),
        lambda accounts: accounts._demands.clear(),
    ]
    for spoil in spoils:
        found, accounts = afresh()
        spoil(accounts)
        assert found.cluster.recount_accounts() == 1
    found, accounts = afresh()
    accounts.namespaces["empty"] = {0: 0}  # nothing is nothing
    assert found.cluster.recount_accounts() == 0


@pytest.mark.parametrize("waits", [PENDING, RESERVED])
def test_a_gang_that_is_bound_in_part_is_split_whether_the_others_hold_places_or_not(waits: State) -> None:
    found = world()
    found.gang("g", minimum=2)
    put(found, "t", [RUNNING, waits])
    found.gang("whole", minimum=1)
    put(found, "w", [RUNNING], gang="whole")
    found.cluster.settle()
    assert list(found.cluster.accounts.split) == ["ns/g"]
