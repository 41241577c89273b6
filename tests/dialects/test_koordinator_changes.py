"""What happens to Koordinator's gangs while they wait: groups and members that go, change, or move elsewhere."""

from __future__ import annotations

import pytest

from podium.dialects.koordinator.names import (
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    NAME,
    POD_GROUP,
    PODGROUPS,
    TIMEOUT,
    WAITING_TIME,
)
from podium.kube.changes import Patch
from podium.kube.resources import PODS
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups


def holding(by_group: bool) -> Stage:
    """Two of three members hold the only two places."""
    stage = Stage("a", "b")
    if by_group:
        stage.group("g", 3, NON_STRICT)
        stage.labelled("g", 3)
    else:
        stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(2)
    assert len(stage.held("g")) == 2
    return stage


def others_get_the_room(stage: Stage) -> None:
    stage.pod("x")
    stage.pod("y")
    stage.pass_seconds(2)
    assert (stage.bound("x"), stage.bound("y"), stage.bound("g")) == (1, 1, 0)
    assert stage.held("g") == {}


# --- nothing is held for a gang that is there no more ------------------------------------------------------------


def test_the_group_goes_while_its_pods_hold_places() -> None:
    stage = holding(by_group=True)
    stage.delete("g", PODGROUPS)
    stage.pass_seconds(1)
    assert "PodGroup default/g of Koordinator does not exist" in stage.said("g-0")
    others_get_the_room(stage)
    stage.group("g", 3)
    for name in ("c", "d", "e"):
        stage.node(name)
    stage.pass_seconds(2)
    assert stage.bound("g") == 3


def test_nobody_says_any_longer_how_many_start_together() -> None:
    stage = holding(by_group=False)
    for number in range(3):
        stage.annotate(f"g-{number}", MIN_AVAILABLE, None)
    stage.pass_seconds(1)
    assert "it is missing" in stage.said("g-0")
    others_get_the_room(stage)


def test_members_that_hold_places_are_put_into_a_gang_that_there_is_not() -> None:
    stage = holding(by_group=False)
    for number in range(3):
        patch = {"metadata": {"labels": {POD_GROUP: "none"}}}
        stage.cluster.server.carry_out(Patch(PODS, "default", f"g-{number}", patch))
    stage.pass_seconds(1)
    others_get_the_room(stage)


def test_a_member_that_holds_a_place_goes_and_another_one_comes() -> None:
    stage = holding(by_group=False)
    stage.delete("g-0")
    stage.pass_seconds(1)
    assert stage.reserved("g") == 0, "two members are fewer than three"
    stage.pod("g-new", {NAME: "g", MIN_AVAILABLE: "3", **NON_STRICT})
    stage.pass_seconds(1)
    assert stage.reserved("g") == 2
    stage.node("c")
    stage.pass_seconds(1)
    assert stage.bound("g") == 3


@pytest.mark.parametrize("least", [2, 1])
def test_a_minimum_that_is_lowered_while_places_are_held(least: int) -> None:
    stage = holding(by_group=True)
    stage.cluster.server.carry_out(Patch(PODGROUPS, "default", "g", {"spec": {"minMember": least}}))
    stage.pass_seconds(1)
    assert stage.bound("g") == 2


@pytest.mark.parametrize("by_group", [True, False])
def test_a_gang_that_is_strict_now_holds_nothing_any_longer(by_group: bool) -> None:
    stage = holding(by_group)
    if by_group:
        patch = {"metadata": {"annotations": {MODE: "Strict"}}}
        stage.cluster.server.carry_out(Patch(PODGROUPS, "default", "g", patch))
    else:
        stage.annotate("g-0", MODE, "Strict")
    stage.pass_seconds(1)
    others_get_the_room(stage)


# --- gangs that start together -----------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [True, False])
def test_a_whole_gang_whose_partner_lacks_members_first_and_room_then(strict: bool) -> None:
    """For members it waits with its places.  For room a Strict group waits without any, and no time runs."""
    stage = Stage("a", "b", "c")
    both = {**groups("default/g", "default/h"), WAITING_TIME: "30s"}
    of_h = both if strict else {**both, **NON_STRICT}
    stage.gang("g", 2, said=both)
    stage.gang("h", 1, 2, said=of_h)
    stage.pass_seconds(2)
    assert len(stage.held("g")) == 2
    stage.pod("h-1", {NAME: "h", MIN_AVAILABLE: "2", **of_h})
    stage.pass_seconds(2)
    assert (stage.reserved("g"), stage.reserved("h")) == ((0, 0) if strict else (2, 1))
    stage.pass_seconds(60)
    assert stage.marked() == (0 if strict else 4)
    if strict:
        stage.pod("x", seconds=5)
        stage.pass_seconds(20)
        assert stage.phases("x") == {"Succeeded"}, "meanwhile others use the room"
        stage.node("d")
        stage.pass_seconds(2)
        assert stage.bound() == 5


@pytest.mark.parametrize("partner", ["gone", "too few", "as it was"])
def test_a_member_that_comes_back_waits_for_no_partner_any_longer(partner: str) -> None:
    """Both were bound once: whatever has become of the other one, a single member is a plain pod."""
    stage = Stage("a", "b", "c", "d")
    both = groups("default/g", "default/h")
    for name in ("g", "h"):
        stage.group(name, 2, both)
        stage.labelled(name, 2)
    stage.pass_seconds(2)
    assert stage.bound() == 4
    for name in {"gone": ("h-0", "h-1"), "too few": ("h-0",)}.get(partner, ()):
        stage.delete(name)
    stage.delete("g-0")
    stage.pass_seconds(2)
    stage.cluster.restart()
    stage.pass_seconds(2)
    stage.pod("g-new", labels={POD_GROUP: "g"})
    stage.pass_seconds(2)
    assert stage.bound("g-new") == 1


def test_a_group_is_deleted_while_its_partner_holds_places() -> None:
    stage = Stage("a", "b", "c")
    both = groups("default/g", "default/h")
    for name in ("g", "h"):
        stage.group(name, 2, both)
    stage.labelled("g", 2)
    stage.labelled("h", 1)
    stage.pass_seconds(2)
    stage.delete("h", PODGROUPS)
    stage.pass_seconds(2)
    assert len(stage.held("g")) == 2, "it waits for a gang that may come again"
    stage.group("h", 1, both)
    stage.pass_seconds(2)
    assert stage.bound() == 3


def test_a_held_member_of_a_group_goes_and_all_is_found_anew() -> None:
    stage = Stage("a", "b", "c", "d")
    both = groups("default/g", "default/h")
    stage.gang("g", 2, said=both)
    stage.gang("h", 1, 2, said=both)
    stage.pass_seconds(2)
    assert len(stage.held("g")) == 2
    stage.delete("g-0")
    stage.pass_seconds(2)
    assert stage.held("") == {}
    for gang in ("g", "h"):
        stage.pod(f"{gang}-new", {NAME: gang, MIN_AVAILABLE: "2", **both})
    stage.pass_seconds(2)
    assert stage.bound() == 4


# --- restarts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "alone"),
    [("once-satisfied", [1, 2, 3]), ("only-waiting", [0, 0, 3]), ("waiting-and-running", [0, 2, 3])],
)
def test_members_come_back_one_by_one_after_a_restart(policy: str, alone: list[int]) -> None:
    """One of three is left: how many of those that come back are bound after each of them has come."""
    stage = Stage("a", "b", "c", "d")
    said = {NAME: "g", MIN_AVAILABLE: "3", MATCH_POLICY: policy}
    for number in range(3):
        stage.pod(f"g-{number}", said)
    stage.pass_seconds(2)
    assert stage.bound("g") == 3
    stage.delete("g-1")
    stage.delete("g-2")
    stage.pass_seconds(2)
    stage.cluster.restart()
    seen = []
    for number in range(3):
        stage.pod(f"new-{number}", said)
        stage.pass_seconds(2)
        seen.append(stage.bound("new"))
    assert seen == alone


def test_a_restart_while_a_group_over_two_namespaces_waits_and_after_it_has_timed_out() -> None:
    stage = Stage("a", "b", "c", "d")
    said = {**groups("default/g", "other/h"), WAITING_TIME: "10s"}
    stage.gang("g", 2, said=said)
    stage.gang("h", 1, 2, said=said, namespace="other")
    stage.pass_seconds(5)
    held = stage.held("g")
    stage.cluster.restart()
    stage.pass_seconds(2)
    assert stage.held("g") == held
    stage.pass_seconds(10)
    assert stage.marked() == 3
    stage.cluster.restart()
    stage.pod("h-new", {NAME: "h", MIN_AVAILABLE: "2", **said}, namespace="other")
    stage.pass_seconds(3)
    assert (stage.marked(), stage.bound()) == (4, 0)
    for pod in stage.pods():
        stage.annotate(pod.name, TIMEOUT, None, pod.namespace)
    stage.pass_seconds(3)
    assert (stage.marked(), stage.bound()) == (0, 4)
