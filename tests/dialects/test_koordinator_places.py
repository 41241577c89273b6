"""Places that Koordinator's gangs hold: found one by one, on nodes that go, beside others, and for how long."""

from __future__ import annotations

import pytest

from podium.dialects.koordinator.names import PODGROUPS, TIMEOUT, WAITING_TIME
from podium.dialects.koordinator.types import PodGroup
from podium.dialects.volcano.names import QUEUE_NAME, QUEUES
from podium.kube.changes import Patch
from podium.kube.resources import NODES, PRIORITYCLASSES
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups

SCHEDULERS = ["podium", "volcano", "koord-scheduler", "ai-scheduler", "arranger", "paddle"]


def urgent(stage: Stage) -> None:
    document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    stage.create(PRIORITYCLASSES, {**document, "value": 1000}, "")


def change_node(stage: Stage, name: str, how: str) -> None:
    if how == "deleted":
        stage.delete(name, NODES, "")
        return
    taint = {"key": "k", "effect": "NoSchedule"}
    spec = {"unschedulable": True} if how == "cordoned" else {"taints": [taint]}
    stage.cluster.server.carry_out(Patch(NODES, "", name, {"spec": spec}))


# --- found one by one --------------------------------------------------------------------------------------------


def test_places_are_held_as_they_come_free_and_the_numbers_follow() -> None:
    stage = Stage("a", "b", "c")
    for number in range(3):
        stage.pod(f"x-{number}", seconds=10.0 * (number + 1))
    stage.pass_seconds(1)
    stage.gang("g", 3, said=NON_STRICT)
    for held in (1, 2):
        stage.pass_seconds(12 if held == 1 else 10)
        assert stage.reserved("g") == held
        assert stage.said("g-0").endswith(f"for gang default/g: {held} of 3")
        group = stage.cluster.server.find(PODGROUPS, "default", "g")
        assert isinstance(group, PodGroup)
        assert any(f"{held} of 3" in each["message"] for each in group.status.conditions or ())
    stage.pass_seconds(10)
    assert stage.bound("g") == 3


def test_all_members_of_a_large_gang_say_the_number_after_a_while() -> None:
    stage = Stage("a", cpu=12)
    stage.gang("g", 14, said=NON_STRICT)
    stage.pass_seconds(2)
    stage.node("b")
    stage.pass_seconds(2)
    said = [stage.said(f"g-{number}") for number in range(13)]
    assert sum("13 of 14" in each for each in said) >= 5, "some at once"
    assert len(stage.events("WaitingForGang")) <= 6
    stage.pass_seconds(70)
    assert all("13 of 14" in stage.said(pod) for pod in stage.held("g"))


@pytest.mark.parametrize("first", [True, False])
def test_a_gang_for_which_the_cluster_is_too_small_holds_what_comes_free_as_well(first: bool) -> None:
    """Whether there was room from the beginning makes no difference."""
    stage = Stage("a", "b")
    if not first:
        stage.pod("x", cpu=1, seconds=5)
        stage.pod("y", cpu=1, seconds=5)
        stage.pass_seconds(1)
    stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(10)
    assert stage.reserved("g") == 2


def test_what_a_gang_that_matters_more_took_is_held_again_when_that_ends() -> None:
    stage = Stage("a", "b")
    urgent(stage)
    stage.gang("g", 3, said=NON_STRICT)
    stage.gang("large", 3, priorityClassName="high")
    stage.pass_seconds(2)
    assert (stage.reserved("g"), stage.bound("large")) == (2, 0), "it cannot start with that"
    stage.gang("imp", 2, seconds=5, priorityClassName="high")
    stage.pass_seconds(2)
    assert (stage.reserved("g"), stage.bound("imp")) == (0, 2)
    stage.pass_seconds(10)
    assert stage.reserved("g") == 2


# --- nodes that go -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cordoned", "tainted", "deleted"])
def test_a_node_goes_under_a_held_place(how: str) -> None:
    stage = Stage("a", "b")
    stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(2)
    assert stage.held("g") == {"g-0": "a", "g-1": "b"}
    change_node(stage, "a", how)
    stage.pass_seconds(2)
    assert stage.held("g") == {"g-1": "b"}
    stage.node("c")
    stage.pass_seconds(2)
    assert stage.held("g") == {"g-0": "c", "g-1": "b"}
    stage.node("d")
    stage.pass_seconds(2)
    assert stage.bound("g") == 3


@pytest.mark.parametrize("how", ["cordoned", "tainted", "deleted"])
def test_a_node_goes_under_a_gang_that_waits_for_its_partner(how: str) -> None:
    stage = Stage("a", "b", "c")
    both = groups("default/g", "other/h")
    stage.gang("g", 2, said=both)
    stage.gang("h", 1, 2, both, namespace="other")
    stage.pass_seconds(2)
    assert stage.held("g") == {"g-0": "a", "g-1": "b"}
    change_node(stage, "a", how)
    stage.pass_seconds(2)
    assert stage.held("g") == {"g-0": "c", "g-1": "b"}
    change_node(stage, "b", how)
    stage.pass_seconds(2)
    assert stage.reserved("g") == 0, "a Strict gang that is not whole holds nothing"
    assert "1 of 2 members could be placed" in stage.said("g-0")


# --- beside others -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_pods_of_every_profile_respect_held_places_unless_they_matter_more(scheduler: str) -> None:
    stage = Stage("a", "b")
    urgent(stage)
    stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(2)
    stage.pod("later", scheduler=scheduler)
    stage.pass_seconds(8)
    assert (stage.reserved("g"), stage.bound("later")) == (2, 0)
    stage.pod("urgent", scheduler=scheduler, priorityClassName="high")
    stage.pass_seconds(8)
    assert (stage.bound("urgent"), stage.bound("later")) == (1, 0)


def test_a_queue_counts_what_is_held_in_it() -> None:
    stage = Stage("a", "b", "c", "d", "e")

    def limit(cpu: int) -> None:
        patch = {"spec": {"capability": {"cpu": str(cpu)}}}
        stage.cluster.server.carry_out(Patch(QUEUES, "", "q", patch))
        stage.pass_seconds(2)

    queue = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "q"}}
    stage.create(QUEUES, {**queue, "spec": {"capability": {"cpu": "3"}}}, "")
    named = {QUEUE_NAME: "q"}
    stage.gang("g", 4, said={**NON_STRICT, **named})
    stage.pass_seconds(2)
    assert stage.reserved("g") == 3
    stage.pod("x", named, scheduler="volcano")
    stage.pass_seconds(2)
    assert stage.bound("x") == 0
    stage.delete("x")
    limit(2)
    assert stage.reserved("g") == 2
    limit(4)
    assert stage.bound("g") == 4


# --- time --------------------------------------------------------------------------------------------------------


def test_the_clock_begins_anew_with_the_next_place_that_is_held() -> None:
    stage = Stage("a")
    urgent(stage)
    stage.gang("g", 2, said={**NON_STRICT, WAITING_TIME: "10s"})
    stage.pass_seconds(8)
    assert stage.reserved("g") == 1
    stage.pod("urgent", seconds=3, priorityClassName="high")
    stage.pass_seconds(5)
    assert stage.bound("urgent") == 1
    stage.pass_seconds(7)
    assert (stage.reserved("g"), stage.marked()) == (1, 0), "20 seconds after the first place"
    stage.pass_seconds(5)
    assert (stage.reserved("g"), stage.marked()) == (0, 2)


def test_the_first_gang_whose_time_is_over_ends_that_of_its_group() -> None:
    stage = Stage("a", "b", "c", "d")
    said = groups("default/g", "default/h", "default/none")
    stage.gang("g", 2, said={**said, WAITING_TIME: "30s"})
    stage.gang("h", 2, said={**said, WAITING_TIME: "5s"})
    stage.pass_seconds(7)
    assert (stage.marked("g"), stage.marked("h")) == (2, 2)


def test_a_time_that_is_shortened_while_places_are_held() -> None:
    stage = Stage("a")
    stage.gang("g", 2, said={**NON_STRICT, WAITING_TIME: "100s"})
    stage.pass_seconds(8)
    stage.annotate("g-0", WAITING_TIME, "10s")
    stage.pass_seconds(1)
    assert stage.marked() == 0
    stage.pass_seconds(3)
    assert stage.marked() == 2


def test_places_are_held_anew_after_a_restart() -> None:
    stage = Stage("a", "b")
    stage.gang("g", 3, said={**NON_STRICT, WAITING_TIME: "10s"})
    stage.pass_seconds(6)
    held = stage.held("g")
    stage.cluster.restart()
    stage.pass_seconds(2)
    assert (stage.held("g"), stage.reserved("g")) == (held, 2)
    stage.pass_seconds(6)
    assert stage.marked() == 0
    stage.pass_seconds(4)
    assert stage.marked() == 3


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("early", [True, False])
def test_a_group_without_pods_whose_partner_times_out(early: bool, named: bool) -> None:
    """What its pods will find depends on whether others still show it, not on what was found at that time."""
    stage = Stage("a", "b", "c")
    both = groups("default/g", "default/h")
    stage.group("g", 2, both, scheduleTimeoutSeconds=5)
    stage.group("h", 1, both if named else None)
    stage.labelled("g", 2)
    stage.pass_seconds(8)
    assert stage.marked() == 2
    if early:
        stage.labelled("h", 1)
        stage.pass_seconds(2)
        assert (stage.marked("h"), stage.bound("h")) == (1, 0)
    for pod in stage.pods():
        stage.annotate(pod.name, TIMEOUT, None)
    stage.pass_seconds(2)
    if not early:
        stage.labelled("h", 1)
        stage.pass_seconds(2)
    assert (stage.bound(), stage.marked()) == (3, 0)
