"""allocate: gangs that start together, gangs that keep what they have found, and places that are reserved."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.actions import allocate
from podium.core.framework.diagnosis import diagnose as allocate_diagnose
from podium.core.framework.session import Session
from podium.core.model.decisions import Bind, Journal, Release, Reserve
from podium.core.model.model import Gang, Mode, Phase, State, Task
from podium.reasons import Refusal
from tests.core.world import World, profile

PLAIN = profile(["priority", "gang"], ["predicates", "nodeorder"])


class Cast(World):
    """Nodes for one task each, and gangs of equal tasks."""

    def room(self, *names: str) -> None:
        for name in names:
            self.node(name, cpu=1000)

    def of(self, name: str, members: int, minimum: int | None = None, **facts: Any) -> Gang:
        id = self.gang(name, minimum=members if minimum is None else minimum, **facts)
        for index in range(members):
            self.task(f"{name}-{index}", gang=id)
        return self.cluster.gangs[id]

    @property
    def reserved(self) -> dict[str, str]:
        return {each.task[3:]: each.node for each in self.decisions if isinstance(each, Reserve)}

    @property
    def released(self) -> dict[str, str]:
        return {each.task[3:]: each.why for each in self.decisions if isinstance(each, Release)}

    @property
    def holds(self) -> dict[str, str]:
        """What is reserved now."""
        nodes = self.cluster.nodes
        tasks = [each for each in self.cluster.tasks.values() if each.state is State.RESERVED]
        return {task.name: nodes.name(task.row) for task in tasks}

    def plans(self) -> set[tuple[str, int, int]]:
        return {(each.gang, each.members, each.gangs) for each in self.decisions if isinstance(each, Bind)}


@pytest.fixture
def cast() -> Cast:
    return Cast()


# --- gangs that start together -----------------------------------------------------------------------------------


def pair(cast: Cast, **facts: Any) -> tuple[Gang, Gang]:
    one = cast.of("one", 2, together=("ns/one", "ns/two"), **facts)
    return one, cast.of("two", 1, together=("ns/one", "ns/two"), **facts)


def test_gangs_that_start_together_are_bound_by_one_plan_or_not_at_all(cast: Cast) -> None:
    cast.room("a", "b")
    pair(cast)
    cast.run(PLAIN)
    assert cast.placed == {}
    cast.room("c")
    cast.run(PLAIN)
    assert cast.placed.keys() == {"one-0", "one-1", "two-0"}
    assert cast.plans() == {("ns/one", 2, 2), ("ns/two", 1, 2)}


def test_a_gang_that_found_its_places_keeps_them_while_its_partner_looks_for_its_own(cast: Cast) -> None:
    cast.room("a", "b")
    pair(cast)
    cast.run(PLAIN)
    assert cast.holds.keys() in ({"one-0", "one-1"}, {"two-0"})
    assert cast.reserved == cast.holds
    kept = cast.holds
    cast.run(PLAIN)
    assert cast.reserved == {}, "it is no news"
    assert cast.holds == kept
    cast.room("c")
    cast.run(PLAIN)
    assert {name: cast.placed[name] for name in kept} == kept
    assert len(cast.placed) == 3
    assert cast.holds == {}


def test_each_is_told_whom_it_waits_for(cast: Cast) -> None:
    cast.room("a")
    one = cast.of("one", 1, together=("ns/one", "ns/gone"))
    cast.run(PLAIN)
    assert cast.placed == {}
    assert "ns/gone" in cast.refusal("one")
    assert one.counts[State.RESERVED] == 1
    cast.of("gone", 0, minimum=0)
    cast.run(PLAIN)
    assert cast.placed == {"one-0": "a"}
    assert cast.plans() == {("ns/one", 1, 1)}


def test_a_partner_that_runs_already_is_not_waited_for(cast: Cast) -> None:
    cast.room("a", "b")
    id = cast.gang("runs", minimum=1, together=("ns/one", "ns/runs"))
    cast.task("runs-0", gang=id, at="b")
    cast.of("one", 1, together=("ns/one", "ns/runs"))
    cast.run(PLAIN)
    assert cast.placed == {"one-0": "a"}


def test_a_partner_that_has_not_been_let_in_is_waited_for(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("one", 1, together=("ns/one", "ns/two"))
    two = cast.of("two", 1, together=("ns/one", "ns/two"), phase=Phase.PENDING)
    by = profile(["gang"], ["predicates"], actions="enqueue, allocate")
    cast.queue("closed", capability={"cpu": 1})
    two.queue = "closed"
    two.minimum_resources = {"cpu": 1000}
    by = profile(["gang", "proportion"], ["predicates"], actions="enqueue, allocate")
    cast.run(by)
    assert cast.placed == {}
    assert "ns/two" in cast.refusal("one")


def test_members_that_are_held_back_keep_the_group_from_starting(cast: Cast) -> None:
    cast.room("a", "b", "c")
    cast.of("one", 1, together=("ns/one", "ns/two"))
    id = cast.gang("two", minimum=2, together=("ns/one", "ns/two"))
    cast.task("two-0", gang=id)
    cast.task("two-1", gang=id, gated=True)
    cast.run(PLAIN)
    assert cast.placed == {}
    assert "1" in cast.refusal("two")
    cast.task("two-1", gang=id)
    cast.run(PLAIN)
    assert len(cast.placed) == 3


def test_partners_are_tried_once_a_turn_and_others_have_their_turn(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("one", 3, priority=5, together=("ns/one", "ns/two"))
    cast.of("two", 3, priority=4, together=("ns/one", "ns/two"))
    cast.of("other", 2, priority=1)
    cast.run(PLAIN)
    assert cast.placed.keys() == {"other-0", "other-1"}
    assert cast.holds == {}


# --- gangs that keep what they have found ------------------------------------------------------------------------


def test_a_strict_gang_gives_everything_back_and_another_one_keeps_it(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("strict", 3, priority=5)
    cast.run(PLAIN)
    assert cast.holds == {}
    cast.of("keeps", 3, priority=4, mode=Mode.NON_STRICT)
    cast.run(PLAIN)
    assert cast.reserved == cast.holds == {"keeps-0": "a", "keeps-1": "b"}
    assert "2" in cast.refusal("keeps")
    cast.of("late", 1, priority=3)
    cast.run(PLAIN)
    assert cast.placed == {}, "what is reserved is not for those behind it"
    cast.room("c")
    cast.cluster.remove_gang("ns/late")
    cast.cluster.remove_task("ns/late-0")
    cast.cluster.remove_gang("ns/strict")
    cast.run(PLAIN)
    assert cast.placed == {"keeps-0": "a", "keeps-1": "b", "keeps-2": "c"}
    assert cast.plans() == {("ns/keeps", 3, 1)}


def test_reserved_places_are_given_back_when_they_do_not_fit_any_more(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("keeps", 3, mode=Mode.NON_STRICT)
    cast.run(PLAIN)
    cast.node("b", cpu=500)
    cast.run(PLAIN)
    assert cast.released == {"keeps-1": "its place does not fit any longer"}
    assert cast.holds == {"keeps-0": "a"}
    cast.run(PLAIN)
    assert cast.released == {}


def test_a_gang_that_cannot_start_as_it_is_gives_everything_back(cast: Cast) -> None:
    cast.room("a", "b")
    cast.of("keeps", 3, mode=Mode.NON_STRICT)
    cast.run(PLAIN)
    cast.cluster.remove_task("ns/keeps-2")
    cast.run(PLAIN)
    assert cast.released.keys() == {"keeps-0", "keeps-1"}
    assert "2" in cast.released["keeps-0"]
    assert cast.holds == {}


def test_a_queue_in_order_is_not_blocked_by_a_gang_that_holds_places(cast: Cast) -> None:
    cast.queue("q", fifo=True)
    cast.room("a", "b", "c")
    cast.of("first", 4, priority=5, mode=Mode.NON_STRICT)
    cast.task("second", cpu=10)
    cast.run(PLAIN)
    assert cast.holds.keys() == {"first-0", "first-1", "first-2"}
    assert "blocked" not in cast.refusal("second")
    cast = Cast()
    cast.queue("q", fifo=True)
    cast.room("a", "b", "c")
    cast.of("first", 4, priority=5)
    cast.task("second", cpu=10)
    cast.run(PLAIN)
    assert cast.placed == {}
    assert "first" in cast.refusal("second")


def test_a_started_gang_does_not_block_its_queue(cast: Cast) -> None:
    cast.queue("q", fifo=True)
    cast.room("a", "b")
    id = cast.gang("first", minimum=1, priority=5)
    cast.task("first-0", gang=id, at="a")
    cast.task("first-1", gang=id, cpu=5000)
    cast.task("second")
    cast.run(PLAIN)
    assert cast.placed == {"second": "b"}


def test_beyond_its_minimum_a_gang_takes_one_place_at_a_time(cast: Cast) -> None:
    cast.room("a", "b", "c")
    cast.of("g", 4, minimum=2)
    cast.run(PLAIN)
    assert len(cast.placed) == 3
    assert cast.plans() == {("ns/g", 2, 1), ("ns/g", 1, 1)}


def test_places_that_others_are_leaving_are_held_by_the_whole_gang(cast: Cast) -> None:
    cast.room("a", "b")
    cast.task("leaving", at="a", state=State.RELEASING)
    cast.of("g", 2)
    cast.of("late", 1, priority=-1)
    cast.run(PLAIN)
    assert cast.placed == {}
    assert cast.promised == {"g-0": "b", "g-1": "a"}
    cast.cluster.remove_task("ns/leaving")
    cast.run(PLAIN)
    assert cast.placed == {"g-0": "b", "g-1": "a"}


def test_a_gang_is_told_how_many_could_be_placed_also_later(cast: Cast) -> None:
    cast.room("a", "b")
    cast.task("leaving", at="a", state=State.RELEASING)
    cast.of("g", 3)
    cast.run(PLAIN)
    assert "2 of 3 members could be placed" in cast.refusal("g")


# --- what a turn learns ------------------------------------------------------------------------------------------


def test_of_equal_gangs_the_first_that_does_not_fit_is_the_last_that_is_looked_at(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def diagnose(session: Session, task: Task) -> Refusal:
        asked.append(task.gang.name)
        return allocate_diagnose(session, task)

    monkeypatch.setattr(allocate, "diagnose", diagnose)
    cast.room("a", "b")
    for number in range(20):
        cast.of(f"wide-{number:02}", 3)
    cast.run(PLAIN)
    assert asked == ["wide-00"]
    assert all(cast.refusal(f"wide-{number:02}") for number in range(20))


def test_how_tasks_came_to_their_places_is_noted(cast: Cast) -> None:
    cast.room("a")
    cast.of("one", 1)
    cast.run(PLAIN)
    assert [list(each.paths) for each in cast.decisions if isinstance(each, Journal)] == [["ns/one"]]
    cast.run(PLAIN)
    assert not any(isinstance(each, Journal) for each in cast.decisions)
