"""What a gang must have, what it lacks and what it can lose: at every boundary, one more and one less."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from podium.core.model import quorum
from podium.core.model.facts import GangFacts
from podium.core.model.model import HOLDING, READY, Gang, State, SubGroupPolicy, Task
from tests.core.world import World

PENDING, RUNNING, RESERVED, PIPELINED = State.PENDING, State.RUNNING, State.RESERVED, State.PIPELINED


def gang(*states: State, minimum: int = 1, name: str = "g", world: World | None = None, **facts: Any) -> Gang:
    """A gang of tasks in these states."""
    world = world or World()
    world.node("n")
    id = world.gang(name, minimum=minimum, **facts)
    for index, state in enumerate(states):
        add(world, id, state, index)
    return world.cluster.gangs[id]


def add(world: World, gang: str, state: State, index: int, **facts: Any) -> Task:
    at = "" if state in (PENDING, State.SUCCEEDED, State.FAILED) else "n"
    return world.task(f"{gang.removeprefix('ns/')}-{index}", gang=gang, at=at, state=state, **facts)


def of_roles(minimum: int, by_role: dict[str, int], *members: tuple[str, State], **facts: Any) -> Gang:
    world = World()
    world.node("n")
    id = world.gang("g", minimum=minimum, minimum_by_role=by_role)
    for index, (role, state) in enumerate(members):
        add(world, id, state, index, role=role, **facts)
    return world.cluster.gangs[id]


def of_groups(replicas: Iterable[Iterable[State]], *, size: int, minimum: int, least: int = 1) -> Gang:
    """A gang of replicas, each with members in these states."""
    world = World()
    world.node("n")
    id = world.gang("g", minimum=least, policies=(SubGroupPolicy("p", size, minimum, keys=("replica",)),))
    index = 0
    for replica, states in enumerate(replicas):
        for state in states:
            add(world, id, state, index, labels={"replica": str(replica)})
            index += 1
    return world.cluster.gangs[id]


# --- enough members ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("members", "lacks"), [(2, "3"), (3, "")])
def test_a_gang_needs_as_many_members_as_its_minimum(members: int, lacks: str) -> None:
    refusal = quorum.lacking(gang(*[PENDING] * members, minimum=3))
    assert (refusal is not None) == bool(lacks)
    assert lacks in str(refusal)


@pytest.mark.parametrize("state", State)
def test_members_that_cannot_come_to_a_place_any_more_do_not_count(state: State) -> None:
    gone = state in (State.RELEASING, State.FAILED, State.UNKNOWN)
    assert (quorum.lacking(gang(PENDING, state, minimum=2)) is not None) == gone


def test_a_gang_needs_as_many_members_of_each_role_and_groups_of_each_policy() -> None:
    roles = {"ps": 1, "worker": 2}
    whole = [("ps", PENDING), ("worker", PENDING), ("worker", PENDING)]
    assert quorum.lacking(of_roles(3, roles, *whole)) is None
    short = quorum.lacking(of_roles(3, roles, whole[1], whole[1], whole[1]))
    assert "ps" in str(short)
    # Below their sum the minimum in all is what counts.
    assert quorum.lacking(of_roles(2, roles, whole[1], whole[1])) is None
    groups = [[PENDING], [PENDING]]
    assert quorum.lacking(of_groups(groups, size=1, minimum=2)) is None
    assert quorum.lacking(of_groups(groups, size=1, minimum=3)) is not None


def test_it_takes_more_than_one_task_or_gang_to_be_a_gang() -> None:
    assert not quorum.is_gang(gang(minimum=1))
    assert quorum.is_gang(gang(minimum=2))
    assert quorum.is_gang(gang(minimum=1, together=("ns/other",)))


@pytest.mark.parametrize(("members", "awaits"), [(1, True), (2, False), (3, False)])
def test_members_are_awaited_below_the_minimum(members: int, awaits: bool) -> None:
    assert quorum.awaits_members(gang(*[PENDING] * members, minimum=2)) == awaits


# --- enough places -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ready", [0, 1, 2, 3])
def test_what_is_missing_and_what_must_find_places_together(ready: int) -> None:
    found = gang(*[RUNNING] * ready, *[PENDING] * (3 - ready), minimum=2)
    assert quorum.missing(found) == 2 - ready
    assert quorum.satisfied(found) == (ready >= 2)
    assert quorum.to_place(found) == max(1, 2 - ready)
    assert quorum.started(found) == (ready >= 2)
    assert quorum.reaches(found, ready) == (ready >= 2)
    assert quorum.starving(found) == (ready < 2)


@pytest.mark.parametrize("state", State)
def test_which_states_count_as_ready_holding_and_promised(state: State) -> None:
    found = gang(state, minimum=1)
    ready = state in READY
    assert quorum.missing(found) == (0 if ready else 1)
    assert quorum.missing(found, HOLDING) == (0 if state in HOLDING else 1)
    assert quorum.missing(found, quorum.PROMISED) == (0 if ready or state is PIPELINED else 1)
    assert quorum.starving(found) == (not ready and state is not PIPELINED)


def test_a_gang_without_a_minimum_has_enough_but_has_not_started_before_it_has_something() -> None:
    nothing = gang(PENDING, minimum=0)
    assert quorum.satisfied(nothing)
    assert not quorum.started(nothing)
    assert quorum.started(gang(RUNNING, PENDING, minimum=0))


def test_tasks_may_count_as_if_they_had_their_places() -> None:
    found = of_roles(3, {"ps": 1, "worker": 2}, ("ps", PENDING), ("worker", PENDING), ("worker", RUNNING))
    ps, worker, _ = found.tasks.values()
    assert quorum.missing(found) == 2
    assert quorum.missing(found, also=[worker]) == 1
    assert quorum.missing(found, also=[ps, worker]) == 0
    # A second worker does not help the role that lacks one.
    many = of_roles(2, {"ps": 1, "worker": 1}, ("ps", PENDING), ("worker", PENDING), ("worker", RUNNING))
    assert quorum.missing(many, also=list(many.tasks.values())[1:2]) == 1


def test_the_role_that_lacks_most_counts() -> None:
    roles = {"ps": 2, "worker": 1}
    workers = [("worker", RUNNING)] * 3
    found = of_roles(3, roles, *workers, ("ps", PENDING), ("ps", PENDING))
    assert quorum.missing(found) == 2
    assert not quorum.satisfied(found)
    assert quorum.starving(found)
    # Where the minimum in all is less than the roles together, roles do not bind.
    assert quorum.missing(of_roles(2, roles, *workers)) == -1
    assert not quorum.starving(of_roles(2, roles, *workers))
    # At their sum they do.
    promised = of_roles(3, roles, workers[0], ("ps", PIPELINED), ("ps", RUNNING))
    assert not quorum.starving(promised)
    assert quorum.missing(promised) == 1


def test_members_that_wait_and_ask_for_no_room_count_as_placed_unless_somebody_asks_who_starves() -> None:
    found = of_roles(2, {"w": 2}, ("w", PENDING), ("w", RUNNING), cpu=0, memory=0)
    assert found.pending_best_effort == 1
    assert quorum.missing(found) == 0
    assert quorum.starving(found)
    more = of_roles(3, {"w": 3}, ("w", PENDING), ("w", PENDING), ("w", RUNNING), cpu=0, memory=0)
    assert quorum.missing(more) == 0
    other = of_roles(2, {"w": 1, "v": 1}, ("w", PENDING), ("w", PENDING), cpu=0, memory=0)
    assert quorum.missing(other) == 1


def test_a_member_that_is_held_back_is_missing_from_its_role_though_it_asks_for_no_room() -> None:
    world = World()
    world.node("n")
    id = world.gang("g", minimum=2, minimum_by_role={"w": 1, "v": 1})
    for index in range(2):
        add(world, id, RUNNING, index, role="w")
    add(world, id, PENDING, 2, role="v", cpu=0, memory=0, gated=True)
    found = world.cluster.gangs[id]
    assert quorum.missing(found) == 1
    assert not quorum.satisfied(found)
    add(world, id, PENDING, 2, role="v", cpu=0, memory=0)
    assert quorum.satisfied(found)


@pytest.mark.parametrize(
    ("replicas", "whole"),
    [
        ([[RUNNING, RUNNING], [RUNNING, RUNNING]], True),
        ([[RUNNING, RUNNING], [RUNNING, PENDING]], False),
        ([[RUNNING, RUNNING], [RUNNING, PENDING], [RUNNING, RUNNING]], True),
    ],
)
def test_enough_sub_groups_must_be_whole(replicas: list[list[State]], whole: bool) -> None:
    assert quorum.satisfied(of_groups(replicas, size=2, minimum=2)) == whole
    assert quorum.satisfied(of_groups(replicas, size=2, minimum=0))


# --- gangs that start together -----------------------------------------------------------------------------------


def test_partners_that_are_not_there_or_have_not_enough() -> None:
    world = World()
    one = gang(PENDING, name="one", world=world, together=("ns/one", "ns/two", "ns/three", "ns/gone"))
    gang(RUNNING, PENDING, minimum=2, name="two", world=world)
    gang(RUNNING, PENDING, minimum=1, name="three", world=world)
    assert quorum.unsatisfied_partners(one, world.cluster.gangs.get) == ["ns/two", "ns/gone"]
    add(world, "ns/two", PIPELINED, 5)
    assert quorum.unsatisfied_partners(one, world.cluster.gangs.get, quorum.PROMISED) == ["ns/gone"]


def test_components_are_everybody_within_reach_whoever_names_whom() -> None:
    world = World()
    gang(name="one", world=world, together=("ns/two", "ns/gone"))
    gang(name="two", world=world, together=("ns/one", "ns/three"))
    gang(name="three", world=world)
    gang(name="other", world=world, together=("ns/other",))
    gang(name="alone", world=world)
    tied = [each for each in world.cluster.gangs.values() if each.together]
    found = [{each.name for each in group} for group in quorum.components(tied, world.cluster.gangs.get)]
    assert found == [{"one", "two", "three"}, {"other"}]


def test_over_namespaces_only_those_that_name_each_other_belong_together() -> None:
    world = World()
    gang(name="one", world=world, together=("far/two", "far/three"))
    for name, together in (("two", ("ns/one",)), ("three", ("far/two",)), ("four", ())):
        world.cluster.put_gang(GangFacts(f"far/{name}", "far", name, "q", together=together))
    gang(name="five", world=world, together=("far/four", "far/five"))
    tied = [each for each in world.cluster.gangs.values() if each.together]
    found = [{each.name for each in group} for group in quorum.components(tied, world.cluster.gangs.get)]
    assert found == [{"one", "two", "three"}, {"five"}]


def test_the_order_of_groups() -> None:
    world = World()
    late = gang(name="late", world=world, created=9.0, priority=5)
    early = gang(name="early", world=world, created=1.0, priority=5)
    first = gang(name="first", world=world, created=9.0, priority=5, sub_priority=1)
    higher = gang(name="higher", world=world, created=10.0, priority=6)
    twin = gang(name="a-twin", world=world, created=9.0, priority=5)
    ranked = sorted([late, early, first, higher, twin], key=lambda each: quorum.order_of([each]))
    assert ranked == [higher, first, early, twin, late]
    assert quorum.order_of([late, higher]) < quorum.order_of([first]), "a group goes by the best of its gangs"


# --- bound in part -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "minimum", "part"),
    [
        ((RUNNING, PENDING), 2, True),
        ((RUNNING, RESERVED), 2, True),  # a place that is only reserved is not bound
        ((RUNNING, PENDING), 1, False),  # it has enough
        ((RUNNING, RUNNING), 3, False),  # nobody waits
        ((PENDING, PENDING), 2, False),  # nobody is bound
        ((RESERVED, RESERVED), 2, False),
        ((State.SUCCEEDED, PENDING), 2, False),
        ((State.SUCCEEDED, RUNNING, PENDING), 2, False),
    ],
)
def test_bound_in_part(states: tuple[State, ...], minimum: int, part: bool) -> None:
    assert quorum.partially_bound(gang(*states, minimum=minimum)) == part


# --- what it can lose --------------------------------------------------------------------------------------------


def lost(found: Gang) -> list[str]:
    return [task.name for task in quorum.beyond_minimum(found.tasks.values())]


@pytest.mark.parametrize(("minimum", "beyond"), [(0, 3), (1, 2), (2, 1), (3, 0), (4, 0)])
def test_what_is_beyond_the_minimum_can_go_and_no_more(minimum: int, beyond: int) -> None:
    assert lost(gang(RUNNING, RUNNING, RUNNING, minimum=minimum)) == [f"g-{index}" for index in range(beyond)]


def test_gangs_are_counted_apart() -> None:
    world = World()
    one = gang(RUNNING, RUNNING, minimum=1, name="one", world=world)
    two = gang(RUNNING, RUNNING, minimum=1, name="two", world=world)
    tasks = [*one.tasks.values(), *two.tasks.values()]
    assert [task.name for task in quorum.beyond_minimum(tasks)] == ["one-0", "two-0"]


def test_a_role_keeps_its_minimum_and_others_give_what_they_have() -> None:
    roles = {"ps": 1, "worker": 1}
    members = [("ps", RUNNING), ("worker", RUNNING), ("worker", RUNNING), ("worker", RUNNING)]
    assert lost(of_roles(2, roles, *members)) == ["g-1", "g-2"]
    # One that has done its work counts for the gang, but can be lost for its role no more.
    done = [("ps", State.SUCCEEDED), ("ps", RUNNING), ("worker", RUNNING)]
    assert lost(of_roles(2, roles, *done)) == []


def test_members_of_a_role_without_a_minimum_go_first_come_first() -> None:
    members = [("", RUNNING), ("ps", RUNNING), ("", RUNNING)]
    assert lost(of_roles(1, {"ps": 1}, *members)) == ["g-0", "g-2"]


def test_a_sub_group_that_is_needed_stays_whole() -> None:
    pair = [RUNNING, RUNNING]
    # Two of two are needed: nothing can go, though the minimum in all would let it.
    assert lost(of_groups([pair, pair], size=2, minimum=2)) == []
    # One of two: the first goes whole, the other stays.
    assert lost(of_groups([pair, pair], size=2, minimum=1)) == ["g-0", "g-1"]
    # A third member of a group that needs two can go; the two stay.
    assert lost(of_groups([[RUNNING] * 3, pair], size=2, minimum=2)) == ["g-0"]
    # What is not whole can go: it is of no use.
    assert lost(of_groups([[RUNNING, PENDING], pair], size=2, minimum=1))[:1] == ["g-0"]
    assert "g-2" not in lost(of_groups([[RUNNING, PENDING], pair], size=2, minimum=1))


def test_gangs_that_are_tied_are_found_once_however_many_there_are() -> None:
    """Each names the next: looking from each of them would cost the square of their number."""
    gangs = {str(number): Gang(str(number), "ns", str(number), "q", changed={}) for number in range(2000)}
    for number, gang in enumerate(gangs.values()):
        gang.together = (str((number + 1) % len(gangs)),)
    looks: list[str] = []

    def find(id: str) -> Gang | None:
        looks.append(id)
        return gangs.get(id)

    (found,) = quorum.components(gangs.values(), find)
    assert len(found) == len(gangs)
    assert len(looks) == len(gangs)
