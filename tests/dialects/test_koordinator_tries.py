"""Tries of Koordinator's gangs that come to nothing, and what follows: cycles, binds that fail, back-off."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.model.model import State
from podium.dialects.koordinator.names import GROUPS_TOO, MIN_AVAILABLE, MODE, NAME, TOTAL_NUMBER, WAITING_TIME
from podium.dialects.koordinator.pages import page
from podium.errors import ApiError
from podium.kube.resources import NODES
from podium.kube.wire import Pod
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups


def counters(stage: Stage, gang: str) -> tuple[int, bool, set[int]]:
    served = page(f"/gang/default/{gang}", stage.cluster.world.cluster.gangs)
    assert served is not None
    rounds = served["childrenScheduleRoundMap"]
    return served["scheduleCycle"], served["scheduleCycleValid"], set(rounds.values())


def refusing(stage: Stage, times: int, *names: str) -> dict[str, int]:
    """The server refuses the first binds of these pods; how often it has."""
    carry_out = stage.cluster.server.carry_out
    seen = dict.fromkeys(names, 0)

    def refuse(change: Any) -> Any:
        if getattr(change, "subresource", "") == "binding" and seen.get(change.name, times) < times:
            seen[change.name] += 1
            raise ApiError(409, "Conflict", "somebody wrote it")
        return carry_out(change)

    stage.cluster.server.carry_out = refuse  # type: ignore[method-assign]
    return seen


# --- cycles ------------------------------------------------------------------------------------------------------


@pytest.mark.case("P08", "seed")
def test_four_of_four_have_had_their_round_in_a_cycle_that_failed() -> None:
    stage = Stage("a", "b", "c")
    stage.group("g", 4)
    stage.labelled("g", 4)
    stage.pass_seconds(2)
    assert counters(stage, "g") == (1, False, {1})
    assert stage.bound("g") == 0
    stage.pass_seconds(30)
    assert counters(stage, "g") == (1, False, {1}), "nothing has changed, and nothing is tried"
    stage.node("d")
    stage.pass_seconds(1)
    assert counters(stage, "g") == (2, True, {2})
    assert stage.bound("g") == 4


@pytest.mark.case("P10", "seed")
@pytest.mark.parametrize("total", ["5", "4", "3", "0", "x"])
def test_a_total_says_nothing_about_when_a_cycle_ends(total: str) -> None:
    stage = Stage("a", "b", "c", "d")
    stage.group("g", 4, {TOTAL_NUMBER: total})
    stage.labelled("g", 4)
    stage.pass_seconds(2)
    assert counters(stage, "g") == (1, True, {1})
    assert stage.bound("g") == 4


def test_a_gang_that_is_not_strict_has_no_cycles() -> None:
    stage = Stage("a", "b")
    stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(2)
    assert counters(stage, "g") == (1, True, {0})


@pytest.mark.case("C11", "both")
def test_pods_that_never_said_how_many_leave_nothing_behind() -> None:
    stage = Stage("a")
    stage.pod("pod3", {NAME: "ganga"})
    stage.pod("pod4", {NAME: "ganga"})
    stage.pass_seconds(2)
    assert stage.bound() == 0
    assert f"metadata.annotations[{MIN_AVAILABLE}]: it is missing" in stage.said("pod3")
    stage.delete("pod3")
    stage.delete("pod4")
    stage.pass_seconds(2)
    assert page("/gangs", stage.cluster.world.cluster.gangs) == {}
    assert stage.phase("ganga") == "gone"


# --- strict and not, in one group --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, GROUPS_TOO])
def test_a_strict_gang_waits_for_one_that_is_not_strict(key: str | None) -> None:
    stage = Stage("a", "b", "c")
    both = groups("default/g", "other/h")
    if key is not None:
        both = dict.fromkeys([key], next(iter(both.values())))
    stage.gang("g", 2, said={**both, MODE: "Strict"})
    stage.gang("h", 2, said={**both, **NON_STRICT}, namespace="other")
    stage.pass_seconds(2)
    gang, other = stage.model("g"), stage.model("h", "other")
    assert gang is not None
    assert other is not None
    assert (gang.counts[State.RESERVED], other.counts[State.RESERVED]) == (2, 1)
    assert stage.bound() == 0
    stage.node("d")
    stage.pass_seconds(1)
    assert stage.bound() == 4


def test_gangs_that_block_each_other_start_after_a_restart_as_well() -> None:
    stage = Stage("a", "b", "c", "d")
    for name in ("x", "y"):
        stage.gang(name, 3, said=NON_STRICT, seconds=5)
    stage.pass_seconds(1)
    stage.cluster.restart()
    stage.pass_seconds(30)
    assert stage.phases() == {"Succeeded"}


@pytest.mark.parametrize("wait", ["0s", "10m"])
def test_without_any_time_a_gang_starts_whole_or_has_timed_out_at_once(wait: str) -> None:
    stage = Stage("a", "b", "c", configuration=f"profiles: {{koord-scheduler: {{waitingTime: {wait}}}}}")
    stage.gang("whole", 2)
    stage.gang("x", 2, said=NON_STRICT)
    stage.pass_seconds(2)
    assert stage.bound("whole") == 2
    assert stage.marked("x") == (2 if wait == "0s" else 0)


# --- binds that fail ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_a_bind_that_fails_again_and_again_concerns_that_pod_only(mode: str) -> None:
    stage = Stage("a", "b", "c", "d")
    both = {**groups("default/g", "other/h"), MODE: mode, WAITING_TIME: "5s"}
    seen = refusing(stage, 3, "g-1")
    stage.gang("g", 2, said=both)
    stage.gang("h", 2, said=both, namespace="other")
    stage.pass_seconds(0.5)
    assert stage.bound() == 3
    stage.pass_seconds(30)
    assert (stage.bound(), seen, stage.marked()) == (4, {"g-1": 3}, 0)


def test_members_in_back_off_all_start_in_one_turn_when_room_opens() -> None:
    stage = Stage("a", "b", "c", "d", "e")
    names = tuple(f"g-{number}" for number in range(5))
    seen = refusing(stage, 1, *names)
    stage.gang("g", 5)
    stage.pass_seconds(0.3)
    assert set(seen.values()) == {1}
    assert stage.bound() == 0
    stage.delete("a", NODES, "")
    stage.pass_seconds(5)
    assert stage.bound() == 0, "four have room by now"
    moments: dict[str, float] = {}

    def watch(resource: Any, obj: Any, gone: bool) -> None:
        if isinstance(obj, Pod) and obj.spec.node_name:
            moments.setdefault(obj.name, stage.cluster.now)

    stage.cluster.listeners.append(watch)
    stage.node("f")
    stage.pass_seconds(5)
    assert moments.keys() == set(names)
    assert len(set(moments.values())) == 1
