"""Places that gangs hold: who takes them from whom, what becomes of those that lose one, and how long it lasts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from podium.core.cycle import run_cycle
from podium.core.model import quorum
from podium.core.model.constraints import Constraints
from podium.core.model.decisions import Bind, LookAgain, TimeOut
from podium.core.model.model import FINISHED, PLACED, Gang, MatchPolicy, Mode, State
from podium.core.profiles.profile import Profile
from tests.core.test_allocate import Cast
from tests.core.world import GIB, NOW, profile

PLAIN = profile(["priority", "gang"], ["predicates", "nodeorder"])
LIMITED = profile(["priority", "gang"], ["predicates", "capacity", "nodeorder"])
SHARED = profile(["priority", "gang"], ["predicates", "proportion", "nodeorder"])
NOWHERE = Constraints(selector=(("no", "such"),))
PATIENT: dict[str, Any] = {"mode": Mode.NON_STRICT}


@pytest.fixture
def cast() -> Cast:
    return Cast()


def later(cast: Cast, by: Profile, seconds: float) -> None:
    cast.decisions = run_cycle(cast.cluster, by, NOW + seconds)
    cast.cluster.validate()


# --- who takes from whom -----------------------------------------------------------------------------------------


def test_what_later_gangs_hold_is_taken_by_one_that_starts_with_it(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("keeps", 3, priority=4, **PATIENT)
    cast.run(PLAIN)
    assert len(cast.holds) == 2
    cast.of("first", 2, priority=9)
    cast.run(PLAIN)
    assert cast.placed.keys() == {"first-0", "first-1"}
    assert cast.released.keys() == {"keeps-0", "keeps-1"}
    assert "ns/first" in cast.released["keeps-0"]


def test_nobody_loses_a_place_to_one_that_would_not_start_with_it(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("keeps", 3, priority=4, **PATIENT)
    cast.run(PLAIN)
    cast.of("first", 3, priority=9)
    cast.run(PLAIN)
    assert cast.placed == {}
    assert cast.released == {}
    assert len(cast.holds) == 2


def test_who_is_earlier_among_equals_goes_before(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("young", 3, created=5.0, **PATIENT)
    cast.run(PLAIN)
    cast.of("younger", 2, created=6.0)
    cast.run(PLAIN)
    assert cast.placed == {}
    cast.of("old", 2, created=4.0)
    cast.run(PLAIN)
    assert cast.placed.keys() == {"old-0", "old-1"}


def test_who_loses_one_place_gives_all_back_and_others_keep_theirs(cast: Cast) -> None:
    cast.room("a", "b", "c", "d")
    cast.of("second", 3, priority=5, **PATIENT)
    cast.of("third", 3, priority=4, **PATIENT)
    cast.of("plain", 1, priority=6)
    cast.run(PLAIN)
    assert cast.placed.keys() == {"plain-0", "second-0", "second-1", "second-2"}


def test_a_whole_group_is_released_with_the_gang_that_loses_a_place(cast: Cast) -> None:
    cast.room("a", "b", "c")
    both = ("ns/one", "ns/two")
    cast.of("one", 2, together=both)
    cast.of("two", 2, together=both, **PATIENT)
    cast.run(PLAIN)
    assert len(cast.holds) == 3
    cast.of("first", 1, priority=9)
    cast.run(PLAIN)
    assert cast.placed.keys() == {"first-0"}
    assert cast.released.keys() == {"one-0", "one-1", "two-0"}


def test_a_gang_may_move_its_own_places_to_start(cast: Cast) -> None:
    """The small one holds room on the only node that is large enough for the other."""
    cast.node("big", cpu=2000)
    cast.task("blocks", at="big", cpu=1000)
    id = cast.gang("keeps", minimum=2, **PATIENT)
    cast.task("keeps-0", gang=id, cpu=2000)
    cast.task("keeps-1", gang=id, cpu=1000)
    cast.run(PLAIN)
    assert cast.holds == {"keeps-1": "big"}
    cast.cluster.remove_task("ns/blocks")
    cast.node("small", cpu=1000)
    cast.run(PLAIN)
    assert cast.placed == {"keeps-0": "big", "keeps-1": "small"}
    assert cast.released == {}


@pytest.mark.parametrize("by", [LIMITED, SHARED])
def test_the_deadlock_of_a_queue_that_may_hold_ten(cast: Cast, by: Profile) -> None:
    """Three gangs of five, of which three, three and four hold places: they start one after the other."""
    cast.queue("q", capability={"cpu": 10_000})
    for number in range(20):
        cast.node(f"n{number}", cpu=1000)
    sizes = {"one": 3, "two": 3, "three": 4}
    for index, name in enumerate(sizes):
        cast.of(name, 5, created=float(index), **PATIENT)
    for name, count in sizes.items():
        for index in range(count):
            task = cast.cluster.tasks[f"ns/{name}-{index}"]
            cast.cluster.reserve(task, f"n{list(sizes).index(name) * 5 + index}")
    bound: list[str] = []
    for _ in range(6):
        cast.run(by)
        started = sorted({each.gang for each in cast.decisions if isinstance(each, Bind)})
        bound += started
        finish(cast, started if len(bound) < 2 else bound)
    assert bound == ["ns/one", "ns/two", "ns/three"] or bound[0] == "ns/one"
    assert sorted(bound) == ["ns/one", "ns/three", "ns/two"]


def finish(cast: Cast, gangs: Sequence[str]) -> None:
    for id in gangs:
        for task in cast.cluster.gangs[id].tasks.values():
            if task.state in PLACED:
                cast.cluster.assign(task, State.SUCCEEDED, -1)


def test_a_group_is_told_that_its_queue_has_enough(cast: Cast) -> None:
    """All of the group, and not only the gang whose turn it is."""
    cast.room("a", "b", "c")
    cast.queue("q", capability={"cpu": 1000, "memory": GIB})
    cast.of("keeps", 3, priority=9, **PATIENT)
    for index, node in enumerate("ab"):
        cast.cluster.reserve(cast.cluster.tasks[f"ns/keeps-{index}"], node)
    both = ("ns/one", "ns/two")
    cast.of("one", 1, together=both)
    cast.of("two", 2, together=both)
    cast.run(SHARED)
    assert cast.refusal("one").startswith("queue q holds 2 of the 1 cpu that others leave")
    assert cast.refusal("two").startswith("queue q holds 2 of the 1 cpu that others leave")


# --- what starts -------------------------------------------------------------------------------------------------


def test_a_gang_waits_for_whom_it_names_and_not_for_who_names_it(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("named", 1)
    cast.of("names", 2, together=("ns/named", "ns/names"))
    cast.run(PLAIN)
    assert cast.placed.keys() == {"named-0"}
    cast.room("c")
    cast.run(PLAIN)
    assert cast.placed.keys() == {"names-0", "names-1"}


def test_one_impossible_member_keeps_a_gang_out_that_fails_fast(cast: Cast) -> None:
    cast.room("a", "b", "c", "d")
    for name, facts in (("fast", {"fail_fast": True}), ("other", {}), ("patient", PATIENT)):
        id = cast.gang(name, minimum=2, **facts)
        cast.task(f"{name}-0", NOWHERE, gang=id)
        cast.task(f"{name}-1", gang=id)
        cast.task(f"{name}-2", gang=id)
        cast.run(PLAIN)
        assert len(cast.placed) == (0 if name == "fast" else 2), name
        assert cast.holds == {}


def test_beyond_the_minimum_nothing_fails_fast(cast: Cast) -> None:
    cast.room("a", "b", "c")
    id = cast.gang("fast", minimum=2, fail_fast=True)
    for index in (0, 1, 3):
        cast.task(f"fast-{index}", gang=id)
    cast.task("fast-2", NOWHERE, gang=id)
    cast.run(PLAIN)
    assert cast.placed.keys() == {"fast-0", "fast-1", "fast-3"}


def test_a_gang_that_failed_begins_another_cycle_when_it_is_tried_again(cast: Cast) -> None:
    cast.room("a")
    gang = cast.of("fast", 2, fail_fast=True)
    assert (gang.cycle.number, gang.cycle.valid, gang.cycle.rounds) == (1, True, {})
    cast.run(PLAIN)
    assert (gang.cycle.number, gang.cycle.valid) == (1, False)
    assert gang.cycle.rounds == {"ns/fast-0": 1, "ns/fast-1": 1}
    cast.run(PLAIN)
    assert (gang.cycle.number, gang.cycle.valid) == (2, False)
    cast.room("b")
    cast.run(PLAIN)
    assert (gang.cycle.number, gang.cycle.valid) == (3, True)
    assert len(cast.placed) == 2


# --- match policies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "alone"),
    [
        (MatchPolicy.ONCE_SATISFIED, True),
        (MatchPolicy.WAITING_AND_RUNNING, False),
        (MatchPolicy.ONLY_WAITING, False),
    ],
)
def test_a_member_that_comes_back_when_others_are_gone(cast: Cast, policy: MatchPolicy, alone: bool) -> None:
    """Of three that ran one is left and one has come back: two places are not three."""
    cast.room("a", "b", "c", "d")
    gang = cast.of("gang", 3, match=policy)
    for index in range(3):
        cast.cluster.assign(gang.tasks[f"ns/gang-{index}"], State.BOUND, index)
    assert gang.satisfied_once == (policy is MatchPolicy.ONCE_SATISFIED)
    cast.cluster.remove_task("ns/gang-1")
    cast.cluster.remove_task("ns/gang-2")
    cast.task("gang-new", gang="ns/gang")
    cast.run(PLAIN)
    assert bool(cast.placed) == alone


def test_the_third_of_three_comes_back(cast: Cast) -> None:
    for policy, placed in ((MatchPolicy.WAITING_AND_RUNNING, 1), (MatchPolicy.ONLY_WAITING, 0)):
        world = Cast()
        world.room("a", "b", "c", "d")
        gang = world.of("gang", 3, match=policy)
        for index in range(2):
            world.cluster.assign(gang.tasks[f"ns/gang-{index}"], State.BOUND, index)
        world.run(PLAIN)
        assert len(world.placed) == placed, policy


def test_where_only_those_count_that_wait_all_are_placed_at_once(cast: Cast) -> None:
    cast.room("a", "b", "c", "d")
    cast.of("gang", 4, 2, match=MatchPolicy.ONLY_WAITING)
    cast.run(PLAIN)
    assert len(cast.placed) == 4


# --- time --------------------------------------------------------------------------------------------------------


def test_a_gang_holds_places_for_so_long_and_no_longer(cast: Cast) -> None:
    cast.room("a", "b")
    gang = cast.of("keeps", 3, waiting_time=60.0, **PATIENT)
    cast.run(PLAIN)
    assert LookAgain("ns/keeps", NOW + 60) in cast.decisions
    later(cast, PLAIN, 30)
    assert gang.held_since == NOW
    assert len(cast.holds) == 2
    later(cast, PLAIN, 60)
    assert TimeOut("ns/keeps") in cast.decisions
    assert cast.holds == {}
    assert "60 s" in cast.refusal("keeps")
    cast.room("c")
    later(cast, PLAIN, 70)
    assert cast.placed == {}


def test_a_gang_that_only_waits_for_room_never_times_out(cast: Cast) -> None:
    cast.of("keeps", 3, waiting_time=60.0, **PATIENT)
    cast.of("strict", 3, waiting_time=60.0, fail_fast=True)
    cast.node("full", cpu=1)
    for seconds in (0, 100, 200):
        later(cast, PLAIN, seconds)
        assert not [each for each in cast.decisions if isinstance(each, TimeOut)]


def test_the_clock_stops_when_the_places_are_given_back(cast: Cast) -> None:
    cast.room("a")
    gang = cast.of("keeps", 2, waiting_time=60.0, **PATIENT)
    cast.run(PLAIN)
    assert gang.held_since == NOW
    cast.cluster.remove_node("a")
    later(cast, PLAIN, 50)
    assert gang.held_since is None
    cast.room("b")
    later(cast, PLAIN, 59)
    assert gang.held_since == NOW + 59


def test_all_that_are_tied_to_a_gang_time_out_with_it(cast: Cast) -> None:
    cast.room("a")
    cast.of("one", 1, together=("ns/one", "ns/two"), waiting_time=10.0, fail_fast=True)
    cast.of("two", 1, 2, together=("ns/one", "ns/two"), waiting_time=99.0, fail_fast=True)
    cast.run(PLAIN)
    assert len(cast.holds) == 1
    later(cast, PLAIN, 99)
    assert {each.gang for each in cast.decisions if isinstance(each, TimeOut)} == {"ns/one", "ns/two"}
    assert cast.holds == {}


# --- no deadlock -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200))
def test_every_gang_that_fits_alone_completes(seed: int) -> None:
    """Random gangs and groups on a tight cluster; room comes and goes while they wait."""
    rng = random.Random(seed)
    nodes = [(f"n{index}", rng.choice((1000, 2000, 4000))) for index in range(rng.randint(2, 6))]
    cast = Cast()
    for name, cpu in nodes:
        cast.node(name, cpu=cpu)
    blockers = [cast.task(f"block-{name}", at=name, cpu=rng.choice((500, 1000))) for name, _ in nodes]
    groups: list[list[Gang]] = []
    for number in range(rng.randint(2, 6)):
        names = [f"g{number}-{part}" for part in range(rng.choice((1, 1, 2, 3)))]
        together = tuple(f"ns/{name}" for name in names) if len(names) > 1 else ()
        created, priority = float(rng.randint(0, 3)), rng.randint(0, 2)
        groups.append([some_gang(cast, rng, name, together, created, priority) for name in names])
    fitting = [group for group in groups if fits_alone(nodes, group)]
    for round in range(60):
        later(cast, PLAIN, float(round))
        if blockers and rng.random() < 0.5:
            cast.cluster.remove_task(blockers.pop(rng.randrange(len(blockers))).id)
        for group in groups:
            if all(quorum.bound_enough(gang) and gang.count(PLACED) for gang in group) and rng.random() < 0.7:
                finish(cast, [gang.id for gang in group])
        if round == 40:  # what can never start does not block the others for ever: its time is over
            for group in groups:
                for gang in group if group not in fitting else ():
                    gang.waiting_time = 0.5
    for group in fitting:
        for gang in group:
            assert gang.count(FINISHED) + gang.count(PLACED) == len(gang.tasks), (seed, gang, cast.holds)


def some_gang(
    cast: Cast, rng: random.Random, name: str, together: tuple[str, ...], created: float, priority: int
) -> Gang:
    mode = rng.choice((Mode.NON_STRICT, Mode.NON_STRICT, Mode.STRICT))
    members = rng.randint(1, 4)
    id = cast.gang(
        name, minimum=members, together=together, mode=mode, created=created, priority=priority,
        fail_fast=mode is Mode.STRICT, match=MatchPolicy.ONCE_SATISFIED,
    )  # fmt: skip
    cpu = rng.choice((500, 1000, 2000))
    for index in range(members):
        cast.task(f"{name}-{index}", gang=id, cpu=cpu)
    return cast.cluster.gangs[id]


def fits_alone(nodes: list[tuple[str, int]], group: list[Gang]) -> bool:
    """Whether a group starts at once on an empty cluster."""
    empty = Cast()
    for name, cpu in nodes:
        empty.node(name, cpu=cpu)
    for gang in group:
        id = empty.gang(gang.name, minimum=gang.minimum, together=gang.together)
        for task in gang.tasks.values():
            empty.task(task.name, gang=id, cpu=dict(task.cls.request.pairs)[0])
    empty.run(PLAIN)
    return len(empty.placed) == sum(len(gang.tasks) for gang in group)
