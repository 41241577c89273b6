"""Lives of Koordinator's gangs, in virtual time: controllers, scheduler and simulated kubelets through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.core.model.model import MatchPolicy, State
from podium.dialects.koordinator.names import (
    COMMUNITY_POD_GROUP,
    COMMUNITY_PODGROUPS,
    GROUPS,
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    NAME,
    POD_GROUP,
    PODGROUPS,
    SUB_PRIORITY,
    TIMEOUT,
    TOTAL_NUMBER,
    WAITING_TIME,
)
from podium.dialects.koordinator.pages import page
from podium.dialects.koordinator.types import PodGroup
from podium.dialects.volcano.names import QUEUE_NAME, QUEUES
from podium.errors import ApiError
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, PODS, PRIORITYCLASSES
from podium.kube.wire import Pod
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups


def nowhere(stage: Stage, name: str, gang: str, minimum: int, **said: str) -> None:
    """A member that fits on no node."""
    marks = {NAME: gang, MIN_AVAILABLE: str(minimum), **said}
    stage.pod(name, marks, nodeSelector={"no": "such"})


# --- how gangs come and go ---------------------------------------------------------------------------------------


@pytest.mark.case("C07", "seed")
@pytest.mark.parametrize("seconds", [42, 0])
def test_a_gang_of_annotations_gets_a_group_that_goes_with_its_last_pod(seconds: int) -> None:
    stage = Stage("a", configuration=f"profiles: {{koord-scheduler: {{waitingTime: {seconds}s}}}}")
    stage.pod("pod4", {NAME: "gangb", MIN_AVAILABLE: "2"})
    stage.pass_seconds(3)
    made = stage.cluster.server.find(PODGROUPS, "default", "gangb")
    assert isinstance(made, PodGroup)
    assert made.annotations == {"PodGroupFromPodAnnotation": "true"}
    assert (made.spec.min_member, made.spec.schedule_timeout_seconds) == (2, seconds)
    stage.annotate("pod4", MIN_AVAILABLE, "3")
    stage.annotate("pod4", WAITING_TIME, "90s")
    stage.pass_seconds(3)
    made = stage.cluster.server.find(PODGROUPS, "default", "gangb")
    assert isinstance(made, PodGroup)
    assert (made.spec.min_member, made.spec.schedule_timeout_seconds) == (3, 90), "it says what its pods say"
    stage.delete("pod4")
    stage.pass_seconds(3)
    assert stage.phase("gangb") == "gone"
    stage.group("gangc", 2)
    stage.pod("pod5", {NAME: "gangc", MIN_AVAILABLE: "2"})
    stage.pass_seconds(3)
    own = stage.cluster.server.find(PODGROUPS, "default", "gangc")
    assert own is not None
    assert own.annotations == {}, "one that there is stays"


def test_groups_are_not_made_where_the_file_says_so() -> None:
    stage = Stage("a", "b", configuration="profiles: {koord-scheduler: {makePodGroups: false}}")
    stage.gang("g", 2)
    stage.pass_seconds(5)
    assert stage.bound("g") == 2
    assert stage.phase("g") == "gone"


@pytest.mark.case("C11", "both")
def test_a_gang_of_annotations_is_gone_with_its_last_pod() -> None:
    stage = Stage("a")
    stage.pod("pod3", {NAME: "ganga", MIN_AVAILABLE: "3"})
    stage.pod("pod4", {NAME: "ganga", MIN_AVAILABLE: "3"})
    stage.pass_seconds(1)
    assert stage.model("ganga") is not None
    stage.delete("pod3")
    stage.delete("pod4")
    stage.pass_seconds(3)
    assert stage.model("ganga") is None


@pytest.mark.case("C12", "both")
def test_a_gang_of_a_group_stays_without_pods() -> None:
    stage = Stage("a")
    stage.group("gangb", 4, scheduleTimeoutSeconds=10)
    stage.labelled("gangb", 2)
    stage.pass_seconds(1)
    for number in range(2):
        stage.delete(f"gangb-{number}")
    stage.pass_seconds(2)
    gang = stage.model("gangb")
    assert gang is not None
    assert (gang.minimum, gang.attributes["total-number"], gang.waiting_time) == (4, "4", 10.0)
    assert gang.tasks == {}


@pytest.mark.case("C14", "head")
def test_a_gang_lives_from_its_group_to_the_end_of_it() -> None:
    stage = Stage("a", "b")
    seen = []

    def look() -> None:
        stage.pass_seconds(1)
        seen.append(stage.model("ganga") is not None)

    stage.pod("pod1", labels={POD_GROUP: "ganga"}, nodeName="a")
    look()
    stage.group("ganga", 2, NON_STRICT)
    look()
    stage.pod("pod2", labels={POD_GROUP: "ganga"})
    look()
    stage.delete("pod1")
    look()
    stage.delete("pod2")
    look()
    stage.delete("ganga", PODGROUPS)
    look()
    assert seen == [False, True, True, True, True, False]


def test_pods_before_their_group_are_collected_and_wait() -> None:
    stage = Stage("a", "b")
    stage.labelled("g", 2)
    stage.pass_seconds(5)
    assert stage.bound("g") == 0
    assert "PodGroup default/g of Koordinator does not exist" in stage.said("g-0")
    assert "podium crds" in stage.said("g-0")
    collected = stage.cluster.world.page("/gangs")
    assert collected is not None
    assert collected["default/g"]["hasGangInit"] is False
    assert collected["default/g"]["children"] == ["default/g-0", "default/g-1"]
    stage.group("g", 2)
    stage.pass_seconds(1)
    assert stage.bound("g") == 2
    stage.delete("g", PODGROUPS)
    stage.pass_seconds(1)
    one = stage.cluster.world.page("/gang/default/g")
    assert one is not None
    assert (one["hasGangInit"], one["minRequiredNumber"], len(one["boundChildren"])) == (False, 0, 2)


def define_community_groups(stage: Stage) -> None:
    """As a cluster has them that had another scheduler of gangs."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    group, approved = COMMUNITY_PODGROUPS.group, {"api-approved.kubernetes.io": "unapproved, for a test"}
    document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{group}", "annotations": approved},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups"},
            "versions": [version],
        },
    }
    stage.create(CUSTOMRESOURCEDEFINITIONS, document, "")
    stage.cluster.restart()


def community_group(stage: Stage, name: str, **spec: Any) -> None:
    document = {"apiVersion": COMMUNITY_PODGROUPS.api_version, "kind": "PodGroup", "metadata": {"name": name}}
    stage.create(COMMUNITY_PODGROUPS, {**document, "spec": spec})


def test_groups_as_their_community_has_them_since() -> None:
    stage = Stage("a", "b", "c")
    define_community_groups(stage)
    community_group(stage, "g", minMember=3, scheduleTimeoutSeconds=7)
    for number in range(2):
        stage.pod(f"g-{number}", labels={COMMUNITY_POD_GROUP: "g"})
    stage.pass_seconds(2)
    assert stage.said("g-0") == "the gang needs 3 members and has 2 (spec.minMember of its PodGroup)"
    gang = stage.model("g")
    assert gang is not None
    assert gang.waiting_time == 7.0
    stage.pod("g-2", labels={POD_GROUP: "g"})
    stage.pass_seconds(2)
    assert stage.bound("g") == 3


def test_what_was_made_for_pods_hides_no_group_that_says_something() -> None:
    stage = Stage("a", "b")
    define_community_groups(stage)
    community_group(stage, "g", minMember=2, minResources={"cpu": "100"})
    stage.gang("g", 2)
    stage.pass_seconds(5)
    assert stage.bound("g") == 0
    assert "it needs at least 100 cpu" in stage.said("g-0")


def test_a_pod_that_speaks_changes_or_leaves_and_the_next_one_speaks() -> None:
    stage = Stage("a")
    for number, least in enumerate(("4", "3", "x")):
        stage.pod(f"g-{number}", {NAME: "g", MIN_AVAILABLE: least})
        stage.pass_seconds(1.1)
    gang = stage.model("g")
    assert gang is not None
    assert gang.minimum == 4, "the oldest one's counts"
    stage.annotate("g-0", MIN_AVAILABLE, "5")
    stage.pass_seconds(1)
    assert gang.minimum == 5
    stage.delete("g-0")
    stage.pass_seconds(1)
    assert gang.minimum == 3
    stage.delete("g-1")
    stage.pass_seconds(1)
    assert stage.model("g") is None, "nobody is left who says enough"
    assert "'x' is no whole number" in stage.said("g-2")


def test_a_member_more_costs_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand members: only one of them is read for the gang."""
    stage = Stage("a")
    kind = next(each.gathered for each in stage.cluster.world.groups.values() if each.gathered is not None)
    reads = []
    gathered = stage.cluster.world._gathered
    members = gathered.read

    def counted(*args: Any) -> Any:
        reads.append(args[0])
        return members(*args)

    monkeypatch.setattr(gathered, "read", counted)
    stage.gang("g", 300, 1000)
    stage.pass_seconds(2)
    assert kind.prefix == "koordinator/"
    assert len(reads) < 10


# --- enough members, once satisfied, match policies --------------------------------------------------------------


def run_once(stage: Stage, name: str, members: int, **said: str) -> None:
    """A gang that runs, of which all members but one go then."""
    stage.gang(name, members, said=said)
    stage.pass_seconds(2)
    assert stage.bound(name) == members
    for number in range(1, members):
        stage.delete(f"{name}-{number}")
    stage.pass_seconds(2)


@pytest.mark.case("P03", "both")
def test_after_a_gang_was_satisfied_single_members_are_plain_pods() -> None:
    stage = Stage("a", "b", "c", "d")
    run_once(stage, "g", 4)
    stage.pod("g-new", {NAME: "g", MIN_AVAILABLE: "4"})
    stage.pass_seconds(2)
    assert stage.bound("g-new") == 1


@pytest.mark.parametrize("with_group", [True, False])
def test_that_a_gang_was_satisfied_survives_a_restart(with_group: bool) -> None:
    file = f"profiles: {{koord-scheduler: {{makePodGroups: {str(with_group).lower()}}}}}"
    stage = Stage("a", "b", "c", "d", configuration=file)
    run_once(stage, "g", 3)
    stage.cluster.restart()
    stage.pass_seconds(2)
    stage.pod("g-new", {NAME: "g", MIN_AVAILABLE: "3"})
    stage.pass_seconds(2)
    assert stage.bound("g-new") == 1


def test_a_gang_whose_pods_are_all_gone_begins_anew() -> None:
    stage = Stage("a", "b", "c", "d")
    stage.group("g", 3)
    stage.labelled("g", 3)
    stage.pass_seconds(2)
    for number in range(3):
        stage.delete(f"g-{number}")
    stage.pass_seconds(3)
    stage.pod("g-new", labels={POD_GROUP: "g"})
    stage.pass_seconds(2)
    assert stage.bound("g-new") == 0
    assert "needs 3 members and has 1" in stage.said("g-new")


@pytest.mark.case("M05", "both")
@pytest.mark.case("F04", "both")
def test_only_those_that_wait_count_though_it_was_satisfied() -> None:
    stage = Stage("a", "b", "c", "d")
    run_once(stage, "g", 3, **{MATCH_POLICY: "only-waiting"})
    stage.gang("g-more", 2, 3, {MATCH_POLICY: "only-waiting", NAME: "g"})
    stage.pass_seconds(2)
    assert stage.bound("g-more") == 0
    assert "the gang needs 3 members and has 2" in stage.said("g-more-0")
    assert "5 of 3" not in stage.said("g-more-0")


def test_a_member_of_one_that_was_satisfied_takes_what_later_ones_hold_as_a_lone_pod_does() -> None:
    stage = Stage("a", "b", "c")
    stage.gang("g", 2)
    stage.pass_seconds(2)
    stage.gang("later", 1, 2, {MODE: "NonStrict"})
    stage.pod("later-x", {NAME: "later", MIN_AVAILABLE: "2", MODE: "NonStrict"}, nodeSelector={"no": "such"})
    stage.pass_seconds(2)
    assert (stage.bound("g"), stage.reserved("later")) == (2, 1)
    stage.pod("g-more", {NAME: "g", MIN_AVAILABLE: "2"})
    stage.pass_seconds(2)
    assert (stage.bound("g-more"), stage.reserved("later")) == (1, 0)


@pytest.mark.case("M07", "both")
def test_those_that_run_count_with_those_that_wait() -> None:
    stage = Stage("a", "b", "c", "d")
    run_once(stage, "g", 3, **{MATCH_POLICY: "waiting-and-running"})
    said = {MATCH_POLICY: "waiting-and-running", NAME: "g"}
    stage.gang("g-x", 1, 3, said)
    stage.pass_seconds(2)
    assert stage.bound("g-x") == 0, "two are not three"
    stage.gang("g-y", 1, 3, said)
    stage.pass_seconds(2)
    assert stage.bound("g-x") == stage.bound("g-y") == 1


# --- permit: who waits, who is let go ----------------------------------------------------------------------------


@pytest.mark.case("M02", "both")
@pytest.mark.case("F02", "both")
def test_a_pod_of_a_gang_that_nobody_knows_waits_and_is_told() -> None:
    stage = Stage("a")
    stage.pod("p", labels={POD_GROUP: "gangnonexist"})
    stage.pass_seconds(3)
    assert stage.bound("p") == 0
    assert "gangnonexist" in stage.said("p")


@pytest.mark.case("F01", "both")
def test_a_plain_pod_that_fits_nowhere_concerns_nobody() -> None:
    stage = Stage("a")
    stage.pod("p", nodeSelector={"no": "such"})
    stage.gang("g", 1)
    stage.pass_seconds(3)
    assert (stage.bound("p"), stage.bound("g")) == (0, 1)


@pytest.mark.case("M03", "both")
@pytest.mark.case("M12", "seed")
@pytest.mark.parametrize("by_group", [True, False])
def test_members_hold_their_places_until_there_are_enough(by_group: bool) -> None:
    stage = Stage("a", "b")
    if by_group:
        stage.group("g", 3, NON_STRICT, scheduleTimeoutSeconds=10)
        stage.labelled("g", 3)
    else:
        stage.gang("g", 3, said={**NON_STRICT, WAITING_TIME: "10s"})
    stage.pass_seconds(3)
    assert stage.held("g") == {"g-0": "a", "g-1": "b"}
    gang = stage.model("g")
    assert gang is not None
    assert gang.waiting_time == 10.0
    stage.node("c")
    stage.pass_seconds(1)
    assert stage.bound("g") == 3


@pytest.mark.case("M08", "both")
def test_enough_members_are_bound_together() -> None:
    stage = Stage("a", "b", "c")
    stage.group("g", 3)
    stage.labelled("g", 3)
    stage.pass_seconds(1)
    assert stage.bound("g") == 3


@pytest.mark.case("M09", "both")
@pytest.mark.case("M10", "both")
def test_gangs_of_a_group_over_two_namespaces_start_together() -> None:
    stage = Stage("a", "b", "c")
    both = groups("ns-c/gangc", "ns-d/gangd")
    stage.gang("gangc", 2, said=both, namespace="ns-c")
    stage.pass_seconds(3)
    assert stage.bound("gangc") == 0
    stage.gang("gangd", 2, said=both, namespace="ns-d")
    stage.pass_seconds(3)
    assert stage.bound("gang") == 0, "there is room for three"
    stage.node("d")
    stage.pass_seconds(1)
    assert stage.bound("gang") == 4


def test_gangs_without_a_group_start_apart() -> None:
    stage = Stage("a", "b")
    for name in ("gang-a", "gang-b"):
        stage.gang(name, 2, said={GROUPS: ""})
    stage.pass_seconds(3)
    assert stage.bound("gang-a") == 2
    assert stage.bound("gang-b") == 0


@pytest.mark.case("M11", "both")
def test_a_gang_waits_for_its_own_list() -> None:
    stage = Stage("a", "b", "c", "d")
    stage.gang("gangb", 2, said=groups("default/ganga", "default/gangb"))
    stage.gang("ganga", 2, 3)
    stage.pass_seconds(3)
    assert stage.bound("gang") == 0
    stage.pod("ganga-more", {NAME: "ganga", MIN_AVAILABLE: "3"})
    stage.pass_seconds(3)
    assert stage.bound("ganga") == 3, "it does not wait for who names it"
    assert stage.bound("gangb") == 0
    stage.node("e")
    stage.pass_seconds(3)
    assert stage.bound("gangb") == 2


def test_groups_that_name_themselves_in_a_circle() -> None:
    stage = Stage("a", "b", "c")
    stage.gang("one", 1, said=groups("default/one", "default/two"))
    stage.gang("two", 1, said=groups("default/three"))
    stage.pass_seconds(2)
    assert stage.bound() == 0
    stage.gang("three", 1, said=groups("default/one", "default/three"))
    stage.pass_seconds(2)
    assert stage.bound() == 3


def test_a_group_that_names_a_gang_that_there_is_not() -> None:
    stage = Stage("a")
    stage.gang("g", 1, said=groups("default/g", "default/gone"))
    stage.gang("other", 1)
    stage.pass_seconds(3)
    assert stage.bound() == 0
    assert "held on a for gang default/g" in stage.said("g-0")
    stage.node("b")
    stage.pass_seconds(1)
    assert stage.bound("other") == 1


# --- strict and not ----------------------------------------------------------------------------------------------


@pytest.mark.case("S04", "design")
@pytest.mark.case("P08", "seed")
def test_a_strict_gang_of_ten_with_room_for_five() -> None:
    stage = Stage("a", "b", "c", "d", "e")
    stage.gang("g", 10)
    stage.pass_seconds(3)
    gang = stage.model("g")
    assert gang is not None
    assert (stage.bound("g"), gang.counts[State.RESERVED], gang.counts[State.PENDING]) == (0, 0, 10)
    assert (gang.cycle.valid, set(gang.cycle.rounds.values())) == (False, {gang.cycle.number})
    assert "5 of 10 members could be placed" in stage.said("g-0")


def test_one_impossible_member_in_either_mode() -> None:
    for said, bound in (({}, 0), (NON_STRICT, 3)):
        stage = Stage("a", "b", "c", "d", "e")
        nowhere(stage, "g-0", "g", 3, **said)
        for number in range(1, 4):
            stage.pod(f"g-{number}", {NAME: "g", MIN_AVAILABLE: "3", **said})
        stage.pass_seconds(3)
        assert stage.bound("g") == bound, said


@pytest.mark.case("P10", "seed")
def test_a_total_above_the_pods_that_there_are_does_not_hold_a_gang_up() -> None:
    stage = Stage("a", "b", "c", "d")
    stage.gang("g", 4, said={TOTAL_NUMBER: "5"})
    stage.pass_seconds(2)
    gang = stage.model("g")
    assert gang is not None
    assert stage.bound("g") == 4
    assert (gang.cycle.number, gang.cycle.valid, set(gang.cycle.rounds.values())) == (1, True, {1})


@pytest.mark.case("S03", "both")
def test_a_gang_that_waits_for_its_partner_is_not_thrown_out_by_others() -> None:
    stage = Stage("a", "b", "c")
    both = groups("default/one", "default/two")
    stage.gang("one", 1, said=both)
    stage.gang("two", 1, 2, said=both)
    stage.pass_seconds(2)
    held = stage.held("one")
    assert len(held) == 1
    stage.gang("large", 9)
    stage.pod("two-odd", {NAME: "other", MIN_AVAILABLE: "5"})
    stage.pass_seconds(5)
    assert stage.held("one") == held
    stage.pod("two-1", {NAME: "two", MIN_AVAILABLE: "2", **both})
    stage.pass_seconds(2)
    assert stage.bound() == 3


@pytest.mark.case("P12", "seed")
def test_the_cycle_of_a_group() -> None:
    stage = Stage("a")
    both = groups("default/aa", "default/bb")
    for name in ("aa", "bb"):
        stage.gang(name, 1, said=both)
    stage.pass_seconds(1)

    def group() -> dict[str, Any]:
        served = page("/gang/default/aa", stage.cluster.world.cluster.gangs)
        assert served is not None
        found: dict[str, Any] = served["gangGroupInfo"]
        return found

    first = group()
    assert first["scheduleCycleValid"] is False
    assert set(first["childrenScheduleRoundMap"].values()) == {first["scheduleCycle"]}
    assert stage.held("") == {}, "one that fails takes the others of its group along"
    stage.node("b")
    stage.pass_seconds(1)
    assert (group()["scheduleCycleValid"], group()["scheduleCycle"]) == (True, first["scheduleCycle"] + 1)
    assert stage.bound() == 2


def test_five_members_four_places_then_room() -> None:
    """Not strict: four hold the same nodes for a minute, a later small pod does not get them, then all start."""
    stage = Stage("a", "b", "c", "d")
    stage.gang("g", 5, said=NON_STRICT)
    stage.pass_seconds(2)
    held = stage.held("g")
    assert len(held) == 4
    stage.pod("small")

    def look() -> None:
        assert stage.held("g") == held
        assert stage.bound() == 0

    stage.every(5, 12, look)
    assert "held on a for gang default/g: 4 of 5" in stage.said("g-0")
    group = stage.cluster.server.find(PODGROUPS, "default", "g")
    assert isinstance(group, PodGroup)
    (said,) = [each for each in group.status.conditions or () if each["type"] == "Scheduled"]
    assert (said["status"], said["reason"]) == ("False", "WaitingForGang")
    assert "4 of 5" in said["message"]
    stage.node("e")
    stage.pass_seconds(1)
    assert stage.bound("g") == 5


def test_below_the_minimum_of_members_nothing_is_held() -> None:
    for said in ({}, NON_STRICT):
        stage = Stage("a", "b")
        stage.gang("g", 2, 3, said)
        stage.pod("other")
        stage.pass_seconds(3)
        assert stage.reserved("g") == 0
        assert stage.bound("other") == 1


def test_all_members_start_in_one_turn_when_room_opens() -> None:
    stage = Stage("a", "b", "c", "d", "e")
    stage.gang("first", 5, seconds=60)
    stage.pass_seconds(1)
    stage.gang("g", 5)
    stage.pass_seconds(30)
    assert stage.bound("g") == 0
    moments = set()
    stage.cluster.listeners.append(
        lambda resource, obj, gone: (
            moments.add((obj.name, stage.cluster.now))
            if isinstance(obj, Pod)
            and obj.name.startswith("g-")
            and obj.spec.node_name
            and obj.status.phase == "Pending"
            else None
        )
    )
    stage.pass_seconds(60)
    assert stage.bound("g") == 5
    assert len({at for _, at in moments}) == 1


# --- queue order -------------------------------------------------------------------------------------------------


@pytest.mark.case("Q02", "seed")
def test_the_label_orders_pods_and_gangs_of_equal_priority() -> None:
    stage = Stage()
    stage.pod("a", labels={SUB_PRIORITY: "111"})
    stage.pod("b", labels={SUB_PRIORITY: "222"})
    stage.gang("low", 1, labels={SUB_PRIORITY: "1"})
    stage.gang("high", 1, labels={SUB_PRIORITY: "300"})
    order = []
    for name in ("n1", "n2", "n3", "n4"):
        stage.pass_seconds(1)
        stage.node(name)
        stage.pass_seconds(1)
        order += [each.name for each in stage.pods() if each.spec.node_name and each.name not in order]
    assert order == ["high-0", "b", "a", "low-0"]


@pytest.mark.case("Q06", "seed")
def test_the_older_gang_goes_first_though_its_pod_came_later() -> None:
    stage = Stage()
    stage.group("old", 1)
    stage.pass_seconds(5)
    stage.group("young", 1)
    stage.labelled("young", 1)
    stage.pass_seconds(3)
    stage.labelled("old", 1)
    stage.pass_seconds(1)
    stage.node("n")
    stage.pass_seconds(1)
    assert (stage.bound("old"), stage.bound("young")) == (1, 0)


@pytest.mark.case("Q07", "seed")
def test_members_of_a_gang_go_by_name() -> None:
    stage = Stage()
    stage.pod("pod2", {NAME: "g", MIN_AVAILABLE: "1"})
    stage.pod("pod1", {NAME: "g", MIN_AVAILABLE: "1"})
    stage.pass_seconds(1)
    stage.node("n")
    stage.pass_seconds(1)
    assert [each.name for each in stage.pods() if each.spec.node_name] == ["pod1"]


@pytest.mark.case("S02", "both")
def test_groups_that_cannot_start_do_not_keep_others_out() -> None:
    stage = Stage("n", cpu=40)
    shape = {"0": ("a20", "b10", "c32"), "1": ("d20", "e20"), "2": ("f18", "g43"), "3": ("h20", "i30", "j20")}
    for names in shape.values():
        both = groups(*(f"default/{name}" for name in names))
        for name in names:
            members = int(name[1:])
            if name[0] in "cfj":
                nowhere(stage, f"{name}-x", name, members, **both)
                members -= 1
            stage.gang(name, members, int(name[1:]), both)
    for round in range(3):
        stage.pass_seconds(5)
        stage.label("n", round=str(round))
    stage.pass_seconds(5)
    assert stage.bound("d20") == stage.bound("e20") == 20
    assert stage.bound() == 40
    for name in ("a20", "f18", "h20"):
        gang = stage.model(name)
        assert gang is not None
        assert gang.cycle.number >= 2
        assert not gang.cycle.valid


# --- the deadlock ------------------------------------------------------------------------------------------------

THREE = {"g1": 3, "g2": 3, "g3": 4}


@pytest.mark.case("S05", "design")
@pytest.mark.parametrize("limited", [False, True], ids=["room", "queue"])
def test_the_deadlock_is_real_and_is_resolved(limited: bool) -> None:
    """Labels arrive node by node: three gangs of five hold 3, 3 and 4 of ten places; then all nodes suit all."""
    stage = Stage()
    named = {}
    if limited:
        queue = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "ten"}}
        stage.create(QUEUES, {**queue, "spec": {"capability": {"cpu": "10"}}}, "")
        named = {QUEUE_NAME: "ten"}
    for number in range(30 if limited else 10):
        stage.node(f"n{number}")
    for gang in THREE:
        stage.gang(gang, 5, said={**NON_STRICT, **named}, seconds=5, nodeSelector={gang: "yes"})
        stage.pass_seconds(1)
    free = iter(range(30 if limited else 10))
    for gang, places in THREE.items():
        for _ in range(places):
            stage.label(f"n{next(free)}", **{gang: "yes"})
            stage.pass_seconds(0.5)
    assert {gang: len(stage.held(gang)) for gang in THREE} == THREE, "a watcher sees it"
    assert stage.bound() == 0
    for number in range(30 if limited else 10):
        stage.label(f"n{number}", g1="yes", g2="yes", g3="yes")
        stage.pass_seconds(0.1)
    stage.pass_seconds(40)
    assert stage.phases() == {"Succeeded"}
    assert len(stage.pods()) == 15


def test_a_gang_of_another_api_that_matters_more_takes_held_places() -> None:
    stage = Stage("a", "b", "c")
    stage.pod("runs", seconds=1000)
    stage.pass_seconds(1)
    stage.create(
        PRIORITYCLASSES,
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        },
        "",
    )
    stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(2)
    assert stage.reserved("g") == 2
    stage.cluster.server.apply(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "vc"},
            "spec": {"minMember": 2, "priorityClassName": "high"},
        }
    )
    for number in range(2):
        stage.pod(f"vc-{number}", {"scheduling.k8s.io/group-name": "vc"}, scheduler="volcano", seconds=5)
    stage.pass_seconds(3)
    assert stage.bound("vc") == 2
    assert stage.reserved("g") == 0
    stage.pass_seconds(10)
    assert len(stage.held("g")) == 2


# --- time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minutes", "bound"), [(59, 4), (61, 0)])
def test_the_partner_comes_after_nearly_an_hour(minutes: int, bound: int) -> None:
    stage = Stage("a", "b", "c", "d")
    said = {**groups("default/one", "other/two"), WAITING_TIME: "3600s"}
    stage.gang("one", 2, said=said)
    stage.pass_seconds(minutes * 60)
    stage.gang("two", 2, said=said, namespace="other")
    stage.pass_seconds(5)
    assert stage.bound() == bound
    assert stage.marked() == (0 if bound else 4)


@pytest.mark.case("F08", "design")
def test_a_gang_that_is_not_whole_in_time_is_released_and_marked() -> None:
    stage = Stage("a", "b", "c")
    said = {**NON_STRICT, WAITING_TIME: "5s"}
    stage.gang("g", 2, 3, said)
    nowhere(stage, "g-never", "g", 3, **said)
    stage.pass_seconds(4)
    assert stage.reserved("g") == 2
    stage.pass_seconds(2)
    assert (stage.marked("g"), stage.reserved("g")) == (3, 0)
    assert "has timed out" in stage.said("g-0")
    assert TIMEOUT in stage.said("g-never")
    assert any("has timed out" in each for each in stage.events("FailedScheduling"))
    stage.label("a", no="such")
    stage.pass_seconds(100)
    assert stage.bound() == 0, "it is never tried again"


def test_a_gang_that_has_timed_out_is_tried_again_when_no_member_shows_it() -> None:
    stage = Stage("a", "b")
    stage.gang("g", 3, said={**NON_STRICT, WAITING_TIME: "5s"})
    stage.pass_seconds(7)
    stage.node("c")
    stage.pod("g-new", {NAME: "g", MIN_AVAILABLE: "3"})
    stage.pass_seconds(2)
    assert stage.marked("g") == 4, "newcomers are refused, too"
    for name in ("g-0", "g-1", "g-2"):
        stage.annotate(name, TIMEOUT, None)
        stage.pass_seconds(1)
    assert (stage.marked("g"), stage.bound("g")) == (1, 0), "what a user takes away is not put back"
    stage.cluster.restart()
    stage.pass_seconds(2)
    assert (stage.marked("g"), stage.bound("g")) == (1, 0), "nor by the next scheduler"
    stage.annotate("g-new", TIMEOUT, None)
    stage.pass_seconds(2)
    assert stage.bound("g") >= 3


@pytest.mark.parametrize("written", range(4))
def test_a_scheduler_that_dies_between_the_marks(written: int) -> None:
    """A group over two namespaces times out; the scheduler dies after some of the marks."""
    stage = Stage("a", "b", "c")
    said = {**NON_STRICT, **groups("default/one", "other/two"), WAITING_TIME: "5s"}
    stage.gang("one", 2, said=said)
    stage.gang("two", 2, said=said, namespace="other")
    stage.pass_seconds(4)
    done = 0
    carry_out = stage.cluster.server.carry_out

    def dying(change: Any) -> Any:
        nonlocal done
        if TIMEOUT in json.dumps(getattr(change, "patch", {})):
            if done == written:
                raise ApiError(503, "ServiceUnavailable", "away")
            done += 1
        return carry_out(change)

    stage.cluster.server.carry_out = dying  # type: ignore[method-assign]
    stage.pass_seconds(1.5)
    stage.cluster.server.carry_out = carry_out  # type: ignore[method-assign]
    stage.cluster.restart()
    stage.pass_seconds(10)
    assert stage.bound() == 0
    if written:
        assert stage.marked() == 4
        assert stage.reserved("one") == 0
        assert "remove the annotation" in stage.said("one-0")
        for pod in stage.pods():
            stage.annotate(pod.name, TIMEOUT, None, pod.namespace)
        stage.node("d")
        stage.pass_seconds(3)
        assert stage.bound() == 4


def test_a_gang_that_only_queues_never_times_out() -> None:
    stage = Stage("a")
    stage.gang("first", 1, seconds=3000)
    stage.pass_seconds(1)
    stage.gang("g", 2, said={WAITING_TIME: "5s"})
    stage.pass_seconds(1000)
    assert stage.marked() == 0
    stage.node("b")
    stage.node("c")
    stage.pass_seconds(2)
    assert stage.bound("g") == 2


# --- binds that fail ---------------------------------------------------------------------------------------------


@pytest.mark.case("F09", "design")
def test_a_bind_that_fails_after_others_were_bound_concerns_that_pod_only() -> None:
    stage = Stage("a", "b", "c")
    carry_out = stage.cluster.server.carry_out
    failed: list[Any] = []

    def failing(change: Any) -> Any:
        if getattr(change, "subresource", "") == "binding" and change.name == "g-2" and not failed:
            failed.append(change)
            raise ApiError(409, "Conflict", "somebody wrote it")
        return carry_out(change)

    stage.cluster.server.carry_out = failing  # type: ignore[method-assign]
    stage.gang("g", 3)
    stage.pass_seconds(0.5)
    assert stage.bound("g") == 2
    stage.pass_seconds(5)
    assert (stage.bound("g"), len(failed)) == (3, 1)


# --- bad values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "starts"),
    [
        (MODE, "strict", True),
        (WAITING_TIME, "abc", True),
        (MIN_AVAILABLE, "-1", True),
        (MIN_AVAILABLE, "x", False),
        (GROUPS, "a,b", True),
        (NAME, "Not_A_Name", False),
    ],
)
def test_bad_values_are_told_and_nobody_else_is_delayed(key: str, value: str, starts: bool) -> None:
    stage = Stage("a", "b", "c")
    stage.pod("bad", {NAME: "bad", MIN_AVAILABLE: "1", key: value})
    stage.gang("good", 2)
    stage.pass_seconds(3)
    assert stage.bound("good") == 2
    assert stage.bound("bad") == starts
    told = stage.events("InvalidSpec") + stage.events("FailedScheduling")
    assert any(key in each and value in each for each in told), told


def test_more_is_asked_for_than_there_are_pods() -> None:
    stage = Stage("a", "b", "c")
    stage.gang("few", 2, 5)
    stage.gang("good", 2)
    stage.pass_seconds(3)
    assert (stage.bound("few"), stage.bound("good")) == (0, 2)
    assert "needs 5 members and has 2" in stage.said("few-0")


def test_a_group_that_asks_for_more_than_the_cluster_has() -> None:
    stage = Stage("a", "b")
    stage.group("g", 2, minResources={"cpu": "5"})
    stage.labelled("g", 2)
    stage.pass_seconds(3)
    assert stage.bound() == 0
    assert "it needs at least 5 cpu, and the cluster has 2 in all" in stage.said("g-0")
    for name in ("c", "d", "e"):
        stage.node(name)
    stage.pass_seconds(2)
    assert stage.bound() == 2


# --- what tools ask for ------------------------------------------------------------------------------------------


def test_the_page_of_gangs() -> None:
    stage = Stage("a", "b")
    stage.gang("g", 3, said={**NON_STRICT, WAITING_TIME: "90s", TOTAL_NUMBER: "4"})
    stage.pass_seconds(1)
    gangs = stage.cluster.world.cluster.gangs
    served = page("/apis/v1/plugins/Coscheduling/gangs", gangs)
    assert served == page("/gangs", gangs)
    assert served is not None
    one = served["default/g"]
    assert (one["waitTime"], one["mode"], one["minRequiredNumber"], one["totalChildrenNum"]) == (
        90 * 10**9,
        "NonStrict",
        3,
        4,
    )
    assert one["waitingForBindChildren"] == ["default/g-0", "default/g-1"]
    assert one["pendingChildren"] == ["default/g-2"]
    assert one["gangMatchPolicy"] == "once-satisfied"
    assert page("/gang/default/none", gangs) is None
    assert page("/healthz", gangs) is None
    gang = stage.model("g")
    assert gang is not None
    assert gang.match is MatchPolicy.ONCE_SATISFIED
    assert PODS.kind == "Pod"
