"""Plans on pods, and what they say of gangs and groups of them: who was bound half, how long, and who keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.model import quorum
from podium.core.model.decisions import Bind, Decision, Refuse
from podium.core.model.model import Gang, MatchPolicy, State
from podium.engine import recovery as recovering
from podium.engine.recovery import (
    PATIENCE,
    Plan,
    Recovery,
    bound_at,
    is_half_bound,
    is_partially_bound,
    is_torn,
    read_plan,
    unfinished,
    would_come_again,
    write_plan,
)
from podium.kube.wire import Condition, Metadata, OwnerReference, Pod, PodStatus
from podium.reasons import HALF_BOUND, NO_NODES, refuse
from tests.core.world import World

PENDING, RUNNING, RESERVED = State.PENDING, State.RUNNING, State.RESERVED
MADE = 1000.0  # when the plan was made


# --- how they are written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gangs", [1, 2, 12])
def test_a_plan_is_read_as_it_was_written(gangs: int) -> None:
    text = write_plan("ns/g", 7, 4, 1234.5, gangs)
    assert text.startswith("ns/g/")
    id = text.split("/")[2]
    assert read_plan(text) == Plan(1234.5, 4, gangs, id)
    assert read_plan(text, bound=99.0) == Plan(99.0, 4, gangs, id)


def test_a_plan_of_one_gang_is_as_it_always_was() -> None:
    assert write_plan("ns/g", 7, 4, 1.0) == write_plan("ns/g", 7, 4, 1.0, 1) == "ns/g/3e8.7/4"
    assert write_plan("ns/g", 7, 4, 1.0, 2) == "ns/g/3e8.7.2/4"
    assert read_plan("ns/g/3e8/4") == Plan(1.0, 4, 1, "3e8")
    assert read_plan("ns/g/3e8.7/4") == Plan(1.0, 4, 1, "3e8.7")


@pytest.mark.parametrize(
    "text", ["", "x", "a/b", "/", "//", "ns/g/3e8.7/x", "ns/g/zz.7/4", "ns/g/3e8.7.x/4", "ns/g/3e8.7.2/", "a/1"]
)
def test_what_is_no_plan_counts_as_none(text: str) -> None:
    assert read_plan(text) is None


def pod(*conditions: Condition, owners: list[OwnerReference] | None = None) -> Pod:
    return Pod(metadata=Metadata(owner_references=owners or []), status=PodStatus(conditions=list(conditions)))


def test_when_a_pod_was_bound() -> None:
    at = "2026-01-01T00:00:00Z"
    scheduled = Condition(type="PodScheduled", status="True", last_transition_time=at)
    assert bound_at(pod(scheduled)) == 1767225600.0
    assert bound_at(pod(Condition(type="PodScheduled", status="False", last_transition_time=at))) == 0.0
    assert bound_at(pod(Condition(type="Ready", status="True", last_transition_time=at))) == 0.0
    assert bound_at(pod()) == 0.0


def test_who_would_create_a_pod_again() -> None:
    def owned(kind: str, controller: bool = True) -> Pod:
        return pod(owners=[OwnerReference(kind=kind, name="o", uid="o", controller=controller)])

    assert would_come_again(owned("ReplicaSet"))
    assert not would_come_again(owned("Node"))
    assert not would_come_again(owned("ReplicaSet", controller=False))
    assert not would_come_again(pod())
    assert not would_come_again(None)


# --- what they say -----------------------------------------------------------------------------------------------


class Cast:
    """Gangs, and the plans by which their members were bound."""

    def __init__(self) -> None:
        self.world = World()
        self.world.node("n")
        self.plans: dict[str, Plan] = {}

    def gang(self, name: str, *states: State, minimum: int = 2, created: float = 0.0, **facts: Any) -> Gang:
        id = self.world.gang(name, minimum=minimum, **facts)
        together = 2 if facts.get("together") else 1
        for index, state in enumerate(states):
            at = "" if state in (PENDING, State.SUCCEEDED) else "n"
            task = self.world.task(f"{name}-{index}", gang=id, at=at, state=state, created=created)
            if state is RUNNING:
                self.plans[task.id] = Plan(MADE, 2, together)
        return self.world.cluster.gangs[id]

    def partially_bound(self, gang: Gang) -> bool:
        return is_partially_bound(gang, self.plans)

    def group(self, gang: Gang) -> list[str]:
        """The gangs that are torn with one, itself first."""
        find = self.world.cluster.gangs.get
        tied = [each for each in self.world.cluster.gangs.values() if each.together]
        groups = [group for group in quorum.components(tied, find) if gang in group]
        torn = [group for group in groups if is_torn(group, self.plans, find)]
        return sorted((each.name for group in torn for each in group), key=lambda name: name != gang.name)


@pytest.fixture
def cast() -> Cast:
    return Cast()


@pytest.mark.parametrize(
    ("states", "minimum", "partially_bound", "half"),
    [
        ((RUNNING, PENDING), 2, True, True),
        ((RUNNING, RESERVED), 2, True, True),
        ((RUNNING, PENDING), 1, False, False),
        ((RUNNING,), 2, False, True),
        ((PENDING, PENDING), 2, False, False),
        ((RESERVED, PENDING), 2, False, False),
    ],
)
def test_a_gang_was_bound_half(
    cast: Cast, states: tuple[State, ...], minimum: int, partially_bound: bool, half: bool
) -> None:
    gang = cast.gang("g", *states, minimum=minimum)
    assert (cast.partially_bound(gang), is_half_bound(gang)) == (partially_bound, half)


@pytest.mark.parametrize(("created", "partially_bound"), [(MADE - 1, True), (MADE, True), (MADE + 1, False)])
def test_who_came_after_the_plan_was_not_part_of_it(cast: Cast, created: float, partially_bound: bool) -> None:
    gang = cast.gang("g", RUNNING, PENDING, created=created)
    assert cast.partially_bound(gang) == partially_bound
    cast.plans.clear()
    assert not cast.partially_bound(gang), "nobody has made a plan"


def test_the_last_plan_counts(cast: Cast) -> None:
    gang = cast.gang("g", RUNNING, RUNNING, PENDING, minimum=3, created=MADE + 5)
    assert not cast.partially_bound(gang)
    cast.plans["ns/g-1"] = Plan(MADE + 10, 2)
    assert cast.partially_bound(gang)
    cast.plans["ns/g-0"], cast.plans["ns/g-1"] = cast.plans["ns/g-1"], cast.plans["ns/g-0"]
    assert cast.partially_bound(gang)


def test_a_role_that_is_short_is_half_bound(cast: Cast) -> None:
    id = cast.world.gang("g", minimum=2, minimum_by_role={"ps": 1, "worker": 1})
    for index, (role, state) in enumerate([("worker", RUNNING), ("worker", RUNNING), ("ps", PENDING)]):
        task = cast.world.task(f"g-{index}", gang=id, role=role, state=state, at="n" if state is RUNNING else "")
        cast.plans[task.id] = Plan(MADE, 3)
    gang = cast.world.cluster.gangs[id]
    assert cast.partially_bound(gang)
    assert is_half_bound(gang)


@pytest.mark.parametrize(
    ("one", "two", "partially_bound"),
    [
        ((RUNNING, RUNNING), (PENDING, PENDING), True),
        ((RUNNING, RUNNING), (RESERVED, RESERVED), True),
        ((RUNNING, RUNNING), (RUNNING, PENDING), True),
        ((RUNNING, RUNNING), (RUNNING, RUNNING), False),
        ((PENDING, PENDING), (PENDING, PENDING), False),
        ((RESERVED, RESERVED), (PENDING, PENDING), False),
    ],
)
def test_a_group_of_gangs_was_bound_half(
    cast: Cast, one: tuple[State, ...], two: tuple[State, ...], partially_bound: bool
) -> None:
    first = cast.gang("one", *one, together=("ns/two",))
    second = cast.gang("two", *two, together=("ns/one",))
    assert cast.group(first) == (["one", "two"] if partially_bound else [])
    assert cast.group(second) == (["two", "one"] if partially_bound else [])


def test_a_group_is_not_half_bound_by_plans_of_single_gangs_or_for_members_that_came_later(cast: Cast) -> None:
    first = cast.gang("one", RUNNING, RUNNING, together=("ns/two",))
    cast.gang("two", PENDING, PENDING, together=("ns/one",))
    cast.plans = {id: Plan(MADE, 2, 1) for id in cast.plans}
    assert cast.group(first) == []
    cast = Cast()
    first = cast.gang("one", RUNNING, RUNNING, together=("ns/two",))
    cast.gang("two", PENDING, PENDING, together=("ns/one",), created=MADE + 1)
    assert cast.group(first) == []
    alone = cast.gang("alone", RUNNING, PENDING)
    assert cast.group(alone) == []


# --- what becomes of them ----------------------------------------------------------------------------------------


NO = refuse(NO_NODES)


def recovery(cast: Cast) -> Recovery:
    found = Recovery(cast.plans)
    cast.world.cluster.settle()
    accounts = cast.world.cluster.accounts
    found.look(accounts.split, accounts.tied, cast.world.cluster.gangs.get)
    return found


def judged(found: Recovery, cast: Cast) -> dict[str, float]:
    return {gang.name: until for gang, until in found.judge(cast.world.cluster.gangs)}


def test_time_runs_from_the_first_refusal_until_a_member_is_bound(cast: Cast) -> None:
    cast.gang("g", RUNNING, PENDING)
    found = recovery(cast)
    assert found
    assert list(found.gangs) == ["ns/g"]
    assert judged(found, cast) == {}
    found.decided([Refuse("ns/g", NO)], 5.0)
    found.decided([Refuse("ns/g", NO)], 9.0)
    assert judged(found, cast) == {"g": 5.0 + PATIENCE}
    # A bind has been decided: it may come out well, and the time goes on if it does not.
    found.decided([Bind("ns/g-1", "n", "ns/g", 1)], 10.0)
    assert judged(found, cast) == {}
    found.refused("ns/g", NO, 11.0)
    assert judged(found, cast) == {"g": 5.0 + PATIENCE}
    found.succeeded("ns/g")
    assert judged(found, cast) == {}
    found.refused("ns/g", NO, 20.0)
    assert judged(found, cast) == {"g": 20.0 + PATIENCE}


def test_others_are_not_listened_to(cast: Cast) -> None:
    cast.gang("g", RUNNING, PENDING)
    cast.gang("whole", RUNNING, RUNNING, PENDING)
    found = recovery(cast)
    found.decided([Refuse("ns/whole", NO)], 5.0)
    assert judged(found, cast) == {}
    nothing = Recovery(cast.plans)
    assert not nothing
    nothing.decided([Refuse("ns/g", NO)], 5.0)
    nothing.look(cast.world.cluster.accounts.split, {}, cast.world.cluster.gangs.get)
    assert judged(nothing, cast) == {}


def test_what_is_whole_again_or_gone_is_forgotten(cast: Cast) -> None:
    gang = cast.gang("g", RUNNING, PENDING)
    found = recovery(cast)
    found.refused("ns/g", NO, 5.0)
    cast.world.cluster.assign(gang.tasks["ns/g-1"], RUNNING, 0)
    assert judged(found, cast) == {}
    assert not found
    found = recovery(cast)
    assert not found
    gang = cast.gang("h", RUNNING, PENDING)
    found = recovery(cast)
    found.refused("ns/h", NO, 5.0)
    cast.world.cluster.remove_gang("ns/h")
    assert judged(found, cast) == {}
    cast.gang("h", RUNNING, PENDING)
    found.look({"ns/h": cast.world.cluster.gangs["ns/h"]}, {}, cast.world.cluster.gangs.get)
    assert judged(found, cast) == {}, "another gang of that name has not been refused"


def test_a_refusal_of_one_gang_is_one_of_its_group(cast: Cast) -> None:
    cast.gang("one", RUNNING, RUNNING, together=("ns/two",))
    cast.gang("two", PENDING, PENDING, together=("ns/one",))
    found = recovery(cast)
    assert list(found.gangs) == ["ns/one", "ns/two"]
    found.decided([Refuse("ns/two", NO)], 5.0)
    found.decided([Refuse("ns/one", NO)], 3.0)
    assert judged(found, cast) == {"one": 3.0 + PATIENCE, "two": 3.0 + PATIENCE}


def test_what_is_kept_is_said_once_and_from_then_on_in_every_refusal(cast: Cast) -> None:
    gang = cast.gang("g", RUNNING, PENDING)
    other = cast.gang("other", RUNNING, PENDING)
    found = recovery(cast)
    gangs = cast.world.cluster.gangs
    said: list[Decision] = [Refuse("ns/g", NO), Refuse("ns/other", NO), Bind("ns/g-1", "n", "ns/g", 1)]
    found.refused("ns/g", NO, 5.0)
    assert found.worded(said, gangs) is said
    refusal = found.keep(gang)
    assert refusal is not None
    assert refusal.reason == HALF_BOUND
    assert "1 of 2 members are bound" in str(refusal)
    assert found.keep(gang) is None
    worded = found.worded(said, gangs)
    assert worded == [Refuse("ns/g", refusal), said[1], said[2]]
    assert found.worded([Refuse("ns/gone", NO)], gangs) == [Refuse("ns/gone", NO)]
    found.succeeded("ns/g")
    assert found.worded(said, gangs) == said
    found.refused("ns/other", NO, 6.0)
    assert found.keep(other) is not None


# --- gangs of which only members count that wait -----------------------------------------------------------------


def in_part(cast: Cast, *gangs: Gang) -> list[int]:
    """How many of each count though they are bound, as they are looked at for a turn."""
    cast.world.cluster.settle()
    accounts = cast.world.cluster.accounts
    Recovery(cast.plans).look(accounts.split, accounts.tied, cast.world.cluster.gangs.get)
    return [gang.bound_in_part for gang in gangs]


@pytest.mark.parametrize(("members", "created", "counted"), [(3, 0.0, 2), (2, 0.0, 0), (3, MADE + 1, 0)])
def test_bound_members_count_as_long_as_one_of_their_plan_waits(
    cast: Cast, members: int, created: float, counted: int
) -> None:
    gang = cast.gang("g", RUNNING, RUNNING, PENDING, minimum=3, match=MatchPolicy.ONLY_WAITING, created=created)
    cast.plans = {id: Plan(MADE, members, 1, "1.1") for id in cast.plans}
    assert in_part(cast, gang) == [counted]
    assert quorum.missing(gang) == 3 - counted
    assert quorum.counted(gang, 2) == counted


def test_members_of_another_plan_do_not_count(cast: Cast) -> None:
    gang = cast.gang("g", RUNNING, RUNNING, RUNNING, PENDING, minimum=3, match=MatchPolicy.ONLY_WAITING)
    cast.plans["ns/g-0"] = Plan(MADE, 1, 1, "1.1")
    cast.plans["ns/g-1"] = cast.plans["ns/g-2"] = Plan(MADE, 3, 1, "1.2")
    assert in_part(cast, gang) == [2]


def test_a_partner_that_was_bound_by_the_same_plan_counts(cast: Cast) -> None:
    both: dict[str, Any] = {"match": MatchPolicy.ONLY_WAITING}
    one = cast.gang("one", RUNNING, PENDING, together=("ns/two",), **both)
    two = cast.gang("two", RUNNING, RUNNING, **both)
    other = cast.gang("other", RUNNING, RUNNING, **both)
    cast.plans = {id: Plan(MADE, 2, 2, "1.1") for id in cast.plans}
    assert in_part(cast, one, two, other) == [1, 2, 0]
    assert quorum.satisfied(two)


@pytest.mark.parametrize(("gangs", "created", "counted"), [(2, 0.0, 2), (1, 0.0, 0), (2, MADE + 1, 0)])
@pytest.mark.parametrize("state", [PENDING, RESERVED])
def test_a_whole_gang_counts_as_long_as_a_partner_waits_that_was_to_be_bound_with_it(
    cast: Cast, state: State, gangs: int, created: float, counted: int
) -> None:
    both: dict[str, Any] = {"match": MatchPolicy.ONLY_WAITING}
    one = cast.gang("one", RUNNING, RUNNING, together=("ns/two",), **both)
    two = cast.gang("two", state, minimum=1, together=("ns/one",), created=created, **both)
    cast.plans = {id: Plan(MADE, 2, gangs, "1.1") for id in cast.plans}
    assert in_part(cast, one, two) == [counted, 0]
    assert quorum.satisfied(one) == bool(counted)


def test_plans_that_somebody_has_made_up_do_not_cost_their_square(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    gangs = [cast.gang(f"g{number}", RUNNING, PENDING, created=MADE + 1) for number in range(300)]
    plans = {f"ns/g{number}-0": Plan(MADE, 1, 9999, f"{number}.1") for number in range(300)}
    looks = 0
    waits_since = recovering._waits_since

    def counting(gang: Gang) -> float | None:
        nonlocal looks
        looks += 1
        return waits_since(gang)

    monkeypatch.setattr(recovering, "_waits_since", counting)
    assert not unfinished(gangs, plans)
    assert looks <= 2 * len(gangs)


def test_what_was_counted_once_is_not_for_ever(cast: Cast) -> None:
    gang = cast.gang("g", RUNNING, PENDING, match=MatchPolicy.ONLY_WAITING)
    looking, accounts = Recovery(cast.plans), cast.world.cluster.accounts
    cast.plans["ns/g-0"] = Plan(MADE, 2, 1, "1.1")
    for waits, counted in ((True, 1), (False, 0)):
        cast.world.cluster.settle()
        looking.look(accounts.split if waits else {}, accounts.tied, cast.world.cluster.gangs.get)
        assert gang.bound_in_part == counted
