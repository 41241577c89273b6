"""PodGroups of Kubernetes itself: what stands on them, and that those which leave as one do so whole."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.upstream.types import PODGROUPS
from podium.engine.dispatcher import CallType
from podium.kube.controller import Ticket
from podium.kube.resources import PODS
from podium.kube.status import error_from_body
from tests.engine.stage import OWNER, Stage

PROFILE = """
actions: "allocate, gangpreempt"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# The embedded server has no such kind of its own; a real one does when a feature is on.
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": PODGROUPS.group,
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup"},
        "versions": [
            {
                "name": PODGROUPS.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": ANYTHING},
                "subresources": {"status": {}},
            }
        ],
    },
}


def group(name: str, least: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}, **spec},
    }


def stage_with(nodes: int) -> Stage:
    stage = Stage(PROFILE)
    stage.apply(DEFINITION)
    stage.priority_class("urgent", 10)
    stage.restart()
    for index in range(nodes):
        stage.node(f"n{index}", cpu="1")
    return stage


def members(stage: Stage, name: str, count: int) -> None:
    for index in range(count):
        stage.pod(
            f"{name}-{index}",
            owners=[OWNER],
            schedulingGroup={"podGroupName": name},
            schedulerName="default-scheduler",
        )


def conditions(stage: Stage, name: str) -> dict[str, tuple[str, str, str]]:
    found = stage.get(PODGROUPS, name).get("status", {}).get("conditions", [])
    return {each["type"]: (each["status"], each["reason"], each.get("message", "")) for each in found}


def leaving(stage: Stage) -> set[str]:
    pods = stage.server.ok("GET", PODS.path("default"))["items"]
    return {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]}


def test_a_group_says_why_it_waits_and_then_that_it_is_scheduled() -> None:
    stage = stage_with(1)
    stage.apply(group("g", 2))
    members(stage, "g", 2)
    stage.settle()
    status, reason, message = conditions(stage, "g")["PodGroupScheduled"]
    assert (status, reason) == ("False", "Unschedulable")
    assert "cpu" in message
    stage.node("n1", cpu="1")
    stage.settle()
    status, reason, message = conditions(stage, "g")["PodGroupScheduled"]
    assert (status, reason, message) == ("True", "Scheduled", "2 pods have their places, 2 are needed")
    written = stage.get(PODGROUPS, "g")["status"]["conditions"][0]
    assert written["observedGeneration"] == stage.get(PODGROUPS, "g")["metadata"]["generation"]


def test_what_a_group_has_reached_is_not_taken_back_for_members_beyond_it() -> None:
    stage = stage_with(2)
    stage.apply(group("g", 2))
    members(stage, "g", 3)
    stage.settle()
    assert len(stage.placed) == 2
    assert conditions(stage, "g")["PodGroupScheduled"][0] == "True"


def test_a_topology_is_refused_with_its_field() -> None:
    stage = stage_with(2)
    stage.apply(group("g", 2, schedulingConstraints={"topology": [{"key": "rack"}]}))
    members(stage, "g", 2)
    stage.settle()
    assert stage.placed == {}
    assert "spec.schedulingConstraints.topology" in conditions(stage, "g")["PodGroupScheduled"][2]


def half_evicted(mode: str) -> Stage:
    """A group of three on three nodes, of which one is needed for somebody who matters more."""
    stage = stage_with(3)
    stage.apply(group("low", 2, disruptionMode=mode))
    members(stage, "low", 3)
    stage.settle()
    assert len(stage.placed) == 3
    for index in range(3):
        stage.run_pod(f"low-{index}")
    stage.server.now += 10
    return stage


@pytest.mark.parametrize(("mode", "gone"), [("Pod", 1), ("PodGroup", 3)])
def test_a_group_is_disturbed_as_its_mode_says(mode: str, gone: int) -> None:
    stage = half_evicted(mode)
    stage.pod("urgent", priorityClassName="urgent", schedulerName="default-scheduler")
    stage.settle()
    assert len(leaving(stage)) == gone
    assert ("DisruptionTarget" in conditions(stage, "low")) == (mode == "PodGroup")
    stage.bury()
    stage.settle()
    assert "urgent" in stage.placed


def test_the_group_says_that_it_leaves_before_any_member_does() -> None:
    stage = half_evicted("PodGroup")
    stage.pod("urgent", priorityClassName="urgent", schedulerName="default-scheduler")
    stage.settle()
    purposes = [ticket.purpose for ticket in stage.tickets]
    assert purposes.count(CallType.DISRUPT) == 1
    assert purposes.index(CallType.DISRUPT) < purposes.index(CallType.MARK)
    assert conditions(stage, "low")["DisruptionTarget"] == (
        "True",
        "PreemptionByScheduler",
        "preempted for default/urgent",
    )


class Stopped(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("survives", range(7))
def test_a_stop_in_the_middle_leaves_no_half_of_it(survives: int) -> None:
    """The group's mark, three marks of pods and three deletions: after each of them the scheduler may be gone."""
    stage = half_evicted("PodGroup")
    stage.pod("urgent", priorityClassName="urgent", schedulerName="default-scheduler")
    left = survives

    def stop(ticket: Ticket) -> Exception | None:
        nonlocal left
        if ticket.purpose in (CallType.DISRUPT, CallType.MARK, CallType.EVICT):
            if left == 0:
                raise Stopped
            left -= 1
        return None

    stage.trouble = stop
    with pytest.raises(Stopped):
        stage.settle()
    stage.trouble = None
    stage.bury()
    stage.restart()
    stage.settle(60)
    stage.bury()
    stage.settle(60)
    low = {name for name in stage.placed if name.startswith("low-")}
    assert low == set(), "all of them are gone"
    assert "urgent" in stage.placed


def test_a_group_that_starts_again_is_left_alone() -> None:
    stage = half_evicted("PodGroup")
    stage.pod("urgent", priorityClassName="urgent", schedulerName="default-scheduler")
    stage.settle()
    stage.bury()
    stage.settle()
    for index in range(3, 6):
        stage.node(f"n{index}", cpu="1")
    stage.server.now += 10
    members(stage, "low", 3)
    stage.settle(60)
    assert len(stage.placed) == 4
    assert conditions(stage, "low")["DisruptionTarget"][0] == "False"
    assert conditions(stage, "low")["PodGroupScheduled"][0] == "True"
    stage.restart()
    stage.settle(60)
    assert len(stage.placed) == 4
    assert leaving(stage) == set()


def test_a_group_that_cannot_be_written_leaves_all_the_same() -> None:
    stage = half_evicted("PodGroup")
    stage.pod("urgent", priorityClassName="urgent", schedulerName="default-scheduler")
    stage.trouble = lambda ticket: error_from_body(403, b"{}") if ticket.purpose is CallType.DISRUPT else None
    stage.settle()
    assert len(leaving(stage)) == 3


def test_conditions_of_others_stay() -> None:
    stage = stage_with(1)
    document = group("g", 1)
    stage.apply(document)
    other = {
        "type": "Odd",
        "status": "True",
        "reason": "X",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    path = PODGROUPS.path("default", "g", "status")
    stage.server.ok("PATCH", path, {"status": {"conditions": [other]}}, media="application/merge-patch+json")
    members(stage, "g", 1)
    stage.settle()
    found = stage.get(PODGROUPS, "g")["status"]["conditions"]
    assert [each["type"] for each in found] == ["Odd", "PodGroupScheduled"]
