"""Which group a pod is in is told where it cannot be: no such group, or two of them."""

from __future__ import annotations

import pytest

from podium.kube.resources import PODS
from tests.embedded.server import pod
from tests.engine.stage import Stage

GROUP = "scheduling.k8s.io/group-name"
OWN_GROUP = "scheduling.volcano.sh/group-name"


def member(stage: Stage, name: str, *, scheduler: str = "volcano", **annotations: str) -> None:
    document = pod(name, schedulerName=scheduler)
    document["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    marks = {key.replace("_", "."): value for key, value in annotations.items()}
    document["metadata"] |= {"namespace": "default", "annotations": marks}
    stage.apply(document)


def test_a_group_that_does_not_exist_is_named_until_it_does() -> None:
    stage = Stage()
    stage.node("n")
    stage.pod("p", "later")
    stage.settle()
    assert stage.message("p") == "PodGroup default/later of Volcano does not exist"
    assert [event["reason"] for event in stage.events("p")] == ["FailedScheduling"]
    stage.group("later", 1)
    stage.settle()
    assert stage.placed == {"p": "n"}


def test_a_group_that_is_deleted_before_its_pods_are_placed() -> None:
    stage = Stage()
    stage.group("g", 2)
    stage.pod("p", "g")
    stage.settle()
    assert "needs 2 members" in stage.message("p")
    stage.server.ok("DELETE", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/g")
    stage.settle(60)
    assert stage.message("p") == "PodGroup default/g of Volcano does not exist"


def test_pods_of_other_schedulers_are_not_written_to() -> None:
    stage = Stage()
    member(stage, "p", scheduler="somebody-else", **{GROUP: "none"})
    member(stage, "ours", **{GROUP: "none"})
    stage.settle()
    assert stage.message("ours") == "PodGroup default/none of Volcano does not exist"
    assert stage.message("p") == ""


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_member_of_another_scheduler_is_left_to_it(first: str) -> None:
    """It counts when that has placed it, and the others wait for it until then."""
    stage = Stage()
    stage.node("n")
    stage.group("g", 2)
    schedulers = {"ours": "volcano", "theirs": "somebody-else"}
    for name in sorted(schedulers, key=lambda name: name != first):
        member(stage, name, scheduler=schedulers[name], **{GROUP: "g"})
        stage.settle()
    assert stage.placed == {}
    assert stage.message("theirs") == ""
    assert "held back by scheduling gates, another scheduler or faults of their own: 1" in stage.message("ours")
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "theirs"}, "target": {"name": "n"}}
    stage.server.ok("POST", PODS.path("default", "theirs", "binding"), binding)
    stage.settle(60)
    assert stage.placed == {"ours": "n", "theirs": "n"}


def test_two_groups_are_one_too_many() -> None:
    stage = Stage()
    stage.node("n")
    stage.group("g", 1)
    stage.group("h", 1)
    member(stage, "p", **{GROUP: "g", OWN_GROUP: "h"})
    stage.settle()
    reported = "it belongs to PodGroup default/g of Volcano and to PodGroup default/h of Volcano"
    assert stage.message("p").startswith(reported)
    assert stage.placed == {}


def test_a_group_of_kubernetes_that_the_server_does_not_have() -> None:
    stage = Stage()
    stage.node("n")
    stage.pod("p", schedulingGroup={"podGroupName": "g"})
    stage.settle()
    assert stage.message("p") == "PodGroup default/g of Kubernetes does not exist"


def test_members_that_wait_for_a_bad_one_are_told() -> None:
    stage = Stage()
    stage.node("n")
    stage.group("g", 2)
    stage.pod("good", "g")
    stage.pod("held", "g", schedulingGates=[{"name": "example.com/mine"}])
    stage.settle()
    assert "members held back by scheduling gates, another scheduler or faults of their own: 1" in stage.message(
        "good"
    )
    assert stage.get(PODS, "held")["status"]["conditions"][0]["reason"] == "SchedulingGated"


def test_a_gang_that_pods_describe_is_there_from_the_first_of_them_to_the_last() -> None:
    stage = Stage()
    stage.node("n")
    says = {
        f"gang.scheduling.koordinator.sh/{key}": value for key, value in (("name", "g"), ("min-available", "2"))
    }
    for name in ("a", "b"):
        member(stage, name, **{**says, "gang.scheduling.koordinator.sh/min-available": "3"})
    stage.settle()
    known = [id for id in stage.world.cluster.gangs if id.endswith("default/g")]
    assert len(known) == 1
    assert stage.world.cluster.gangs[known[0]].minimum == 3
    assert stage.placed == {}
    for name in ("a", "b"):
        stage.server.ok("DELETE", PODS.path("default", name), {"gracePeriodSeconds": 0})
    stage.settle()
    assert not stage.world.cluster.gangs.keys() & set(known)
    for name in ("a", "b"):
        member(stage, name, **says)
    stage.settle()
    assert stage.placed == {"a": "n", "b": "n"}
