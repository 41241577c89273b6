"""Match policies of Koordinator's gangs, with binds that fail, waves of members, partners and lost nodes."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.koordinator.names import (
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    NAME,
    POD_GROUP,
    TIMEOUT,
    WAITING_TIME,
)
from podium.kube.resources import NODES
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups
from tests.dialects.test_koordinator_tries import refusing

POLICIES = ("once-satisfied", "only-waiting", "waiting-and-running")
ONLY_WAITING = {MATCH_POLICY: "only-waiting"}


# --- binds that fail ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_bind_that_fails_is_tried_again_whatever_the_policy(policy: str, mode: str) -> None:
    stage = Stage("a", "b", "c")
    refusing(stage, 1, "g-1")
    stage.gang("g", 3, said={MATCH_POLICY: policy, MODE: mode, WAITING_TIME: "5s"})
    stage.pass_seconds(0.5)
    assert stage.bound("g") == 2
    stage.pass_seconds(30)
    assert (stage.bound("g"), stage.marked()) == (3, 0)


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_bind_that_fails_in_a_group_of_gangs(policy: str, mode: str) -> None:
    stage = Stage("a", "b", "c", "d")
    said = {**groups("default/g", "other/h"), MATCH_POLICY: policy, MODE: mode, WAITING_TIME: "5s"}
    refusing(stage, 2, "g-1")
    stage.gang("g", 2, said=said)
    stage.gang("h", 2, said=said, namespace="other")
    stage.pass_seconds(0.5)
    assert stage.bound() == 3
    stage.pass_seconds(40)
    assert (stage.bound(), stage.marked()) == (4, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_restart_between_a_bind_that_failed_and_the_next_try(policy: str) -> None:
    stage = Stage("a", "b", "c")
    refusing(stage, 1, "g-1")
    stage.gang("g", 3, said={MATCH_POLICY: policy})
    stage.pass_seconds(0.3)
    assert stage.bound("g") == 2
    stage.cluster.restart()
    stage.pass_seconds(20)
    assert stage.bound("g") == 3


@pytest.mark.parametrize("policy", POLICIES)
def test_the_node_of_a_bind_that_failed_goes(policy: str) -> None:
    stage = Stage("a", "b", "c")
    refusing(stage, 1, "g-1")
    stage.gang("g", 3, said={MATCH_POLICY: policy})
    stage.pass_seconds(0.3)
    (free,) = {"a", "b", "c"} - {each.spec.node_name for each in stage.pods()}
    stage.delete(free, NODES, "")
    stage.pass_seconds(120)
    assert stage.bound("g") == 2, "nothing makes these pods again: they keep what they have"
    stage.node("d")
    stage.pass_seconds(40)
    assert stage.bound("g") == 3


@pytest.mark.parametrize(("policy", "before"), [("only-waiting", 0), ("waiting-and-running", 2)])
def test_a_bind_that_fails_in_a_second_wave(policy: str, before: int) -> None:
    stage = Stage(*"abcdef")
    said = {MATCH_POLICY: policy, NAME: "g"}
    stage.gang("g", 3, said=said)
    stage.pass_seconds(2)
    refusing(stage, 1, "wave-1")
    stage.gang("wave", 2, 3, said)
    stage.pass_seconds(5)
    assert stage.bound("wave") == before
    stage.pod("wave-2", {MIN_AVAILABLE: "3", **said})
    stage.pass_seconds(30)
    assert stage.bound("wave") == 3


# --- only those that wait ----------------------------------------------------------------------------------------


def test_whoever_comes_after_a_bind_that_failed_does_not_profit_from_it() -> None:
    stage = Stage("a", "b", "c", "d", "e")
    refusing(stage, 1, "g-1")
    stage.gang("g", 3, said=ONLY_WAITING)
    stage.pass_seconds(10)
    assert stage.bound("g") == 3
    stage.gang("late", 2, 3, {**ONLY_WAITING, NAME: "g"})
    stage.pass_seconds(10)
    assert stage.bound("late") == 0


def test_a_second_wave_that_is_not_whole_times_out_and_who_runs_stays() -> None:
    stage = Stage("a", "b", "c", "d", "e", "f")
    said = {**ONLY_WAITING, **NON_STRICT, WAITING_TIME: "10s", NAME: "g"}
    stage.gang("g", 3, said=said)
    stage.pass_seconds(2)
    stage.gang("wave", 2, 3, said)
    stage.pod("wave-2", {MIN_AVAILABLE: "3", **said}, nodeSelector={"no": "such"})
    stage.pass_seconds(2)
    assert "for gang default/g: 2 of 3" in stage.said("wave-0"), "the others do not count"
    stage.pass_seconds(10)
    assert (stage.marked("wave"), stage.marked("g"), stage.reserved("g")) == (3, 0, 0)
    assert stage.bound("g") == 3
    for node in "abcdef":
        stage.label(node, no="such")
    for number in range(3):
        stage.annotate(f"wave-{number}", TIMEOUT, None)
    stage.pass_seconds(2)
    assert stage.bound("wave") == 3


def test_a_second_wave_takes_what_later_gangs_hold() -> None:
    stage = Stage("a", "b", "c", "d", "e")
    said = {**ONLY_WAITING, NAME: "g"}
    stage.gang("g", 2, said=said)
    stage.pass_seconds(2)
    stage.gang("later", 4, said=NON_STRICT)
    stage.pass_seconds(2)
    assert stage.reserved("later") == 3
    stage.gang("wave", 2, said=said)
    stage.pass_seconds(2)
    assert (stage.bound("wave"), stage.reserved("later")) == (2, 1)


def test_partners_count_by_their_own_policies() -> None:
    """One that counts running members comes back; its partner counts those only that wait, and has none."""
    stage = Stage("a", "b", "c", "d")
    both = groups("default/g", "default/h")
    stage.gang("g", 2, said={**both, **ONLY_WAITING})
    of_h = {**both, MATCH_POLICY: "waiting-and-running"}
    stage.gang("h", 2, said=of_h)
    stage.pass_seconds(2)
    assert stage.bound() == 4
    stage.delete("h-0")
    stage.pass_seconds(1)
    stage.pod("h-2", {NAME: "h", MIN_AVAILABLE: "2", **of_h})
    stage.pass_seconds(2)
    assert stage.bound("h-2") == 0
    assert stage.said("h-2").endswith("for gang default/h: 2 of 2")


# --- satisfied once ----------------------------------------------------------------------------------------------


def test_what_a_group_needs_at_least_holds_nobody_up_after_it_was_satisfied() -> None:
    stage = Stage("a", cpu=3)
    stage.node("b")
    stage.group("g", 2, minResources={"cpu": "4"})
    stage.labelled("g", 2)
    stage.pass_seconds(2)
    assert stage.bound("g") == 2
    stage.delete("b", NODES, "")
    stage.pass_seconds(2)
    stage.pod("g-new", labels={POD_GROUP: "g"})
    stage.pass_seconds(2)
    assert stage.bound("g-new") == 1, stage.said("g-new")


def test_a_strict_member_that_fits_nowhere_after_the_minimum_keeps_nobody_out() -> None:
    stage = Stage("a", "b", "c", "d")
    stage.gang("g", 3)
    stage.pod("g-9", {NAME: "g", MIN_AVAILABLE: "3"}, nodeSelector={"no": "such"})
    stage.pass_seconds(2)
    assert (stage.bound("g"), stage.bound("g-9")) == (3, 0)


def known(stage: Stage) -> Any:
    return stage.cluster.world.page("/gang/default/g")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_page_says_that_a_gang_was_satisfied_whatever_the_policy(policy: str) -> None:
    stage = Stage("a", "b")
    stage.gang("g", 2, said={MATCH_POLICY: policy})
    stage.pass_seconds(2)
    assert known(stage)["onceResourceSatisfied"] is True
    assert known(stage)["boundChildren"] == ["default/g-0", "default/g-1"]
    assert known(stage)["hasGangInit"] is True


@pytest.mark.parametrize("young", ["pod", "gang"])
@pytest.mark.parametrize("comes_back", [True, False])
def test_a_member_of_an_older_gang_goes_first_also_when_the_gang_has_enough(comes_back: bool, young: str) -> None:
    stage = Stage("a", "b")
    stage.group("old", 2)
    stage.labelled("old", 2 if comes_back else 3)
    stage.pass_seconds(2)
    if young == "pod":
        stage.pod("young-0", nodeSelector={"new": "yes"})
    else:
        stage.gang("young", 1, nodeSelector={"new": "yes"})
    stage.pass_seconds(2)
    if comes_back:
        stage.delete("old-0")
        stage.pod("x")
        stage.pass_seconds(2)
        stage.pod("old-2", labels={POD_GROUP: "old"})
        stage.pass_seconds(2)
    assert (stage.bound("old"), stage.bound("young")) == (1 if comes_back else 2, 0)
    stage.node("c", new="yes")
    stage.pass_seconds(2)
    assert (stage.bound("old"), stage.bound("young")) == (2 if comes_back else 3, 0)


@pytest.mark.parametrize("policy", ["once-satisfied", "waiting-and-running"])
def test_a_member_beyond_the_minimum_takes_what_later_gangs_hold(policy: str) -> None:
    stage = Stage("a", "b", "c")
    stage.gang("g", 2, said={MATCH_POLICY: policy})
    stage.pass_seconds(2)
    stage.gang("later", 2, said=NON_STRICT)
    stage.pass_seconds(2)
    assert (stage.bound("g"), stage.reserved("later")) == (2, 1)
    stage.pod("g-more", {NAME: "g", MIN_AVAILABLE: "2", MATCH_POLICY: policy})
    stage.pass_seconds(2)
    assert (stage.bound("g-more"), stage.reserved("later")) == (1, 0)
    stage.node("d")
    stage.pass_seconds(2)
    stage.gang("latest", 1)
    stage.pass_seconds(2)
    assert (stage.bound("latest"), stage.reserved("later")) == (0, 1), "who comes later takes nothing"
