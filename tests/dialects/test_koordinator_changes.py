"""What happens to Koordinator's gangs while they wait: groups and members that go, change, or move elsewhere."""

from __future__ import annotations

import pytest

from podium.dialects.koordinator.names import MIN_AVAILABLE, NAME, POD_GROUP, PODGROUPS
from podium.kube.changes import Patch
from podium.kube.resources import PODS
from tests.dialects.koordinator_stage import NON_STRICT, Stage


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
