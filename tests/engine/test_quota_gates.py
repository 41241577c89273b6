"""Pods that start behind a gate for their queue's quota, from admission to their node."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.profiles.profile import read_profile
from podium.dialects.kubernetes.gates import QUOTA_GATE, quota_gates
from podium.engine.dispatcher import CallType
from podium.errors import ApiError, UsageError
from podium.kube.resources import PODS
from podium.runtime.configuration import quota_gated
from tests.embedded.server import Server, pod
from tests.engine.stage import PROFILE, Stage

GATE = "scheduling.volcano.sh/queue-allocation-gate"


def make_queue(stage: Stage, cpu: str) -> None:
    stage.apply(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "small"},
            "spec": {"weight": 1, "capability": {"cpu": cpu}},
        }
    )


def gated_pod(stage: Stage, name: str, **annotations: str) -> None:
    document = pod(name, schedulerName="volcano")
    document["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    marks = {GATE: "true", "scheduling.volcano.sh/queue-name": "small", **annotations}
    document["metadata"] |= {"namespace": "default", "annotations": marks}
    stage.apply(document)


def scheduled(stage: Stage, name: str) -> dict[str, Any]:
    conditions = stage.get(PODS, name)["status"]["conditions"]
    return next(each for each in conditions if each["type"] == "PodScheduled")


def stage_of(cpu: str) -> Stage:
    stage = Stage(PROFILE.replace("proportion", "capacity"))
    make_queue(stage, cpu)
    return stage


def test_quota_first_then_nodes() -> None:
    stage = stage_of("1")
    gated_pod(stage, "first")
    gated_pod(stage, "second")
    assert stage.get(PODS, "first")["spec"]["schedulingGates"] == [{"name": GATE}]
    stage.settle()
    assert not stage.get(PODS, "first")["spec"].get("schedulingGates"), "its queue may take it"
    assert scheduled(stage, "first")["reason"] == "Unschedulable", "and a node would help"
    assert stage.get(PODS, "second")["spec"]["schedulingGates"] == [{"name": GATE}]
    assert scheduled(stage, "second")["reason"] == "SchedulingGated"
    assert scheduled(stage, "second")["message"] == (
        "queue small holds 1 of its capability of 1 cpu, and 1 more would be too much"
    )
    stage.node("n")
    stage.settle()
    assert stage.placed == {"first": "n"}
    stage.server.ok("DELETE", PODS.path("default", "first"), {"gracePeriodSeconds": 0})
    stage.settle()
    assert stage.placed == {"second": "n"}


def test_a_gate_that_could_not_be_lifted_is_tried_again() -> None:
    stage = stage_of("1")
    stage.node("n")
    troubles: list[Exception] = [ApiError(409, "Conflict", "x"), ApiError(500, "InternalError", "y")]
    stage.trouble = lambda ticket: troubles.pop() if ticket.purpose == CallType.UNGATE and troubles else None
    gated_pod(stage, "p")
    stage.settle(60)
    assert stage.placed == {"p": "n"}


def test_a_gate_of_somebody_else_stays() -> None:
    stage = stage_of("1")
    stage.node("n")
    stage.pod("p", schedulingGates=[{"name": "example.com/mine"}])
    stage.settle()
    assert stage.placed == {}
    assert stage.sent(CallType.UNGATE) == 0
    assert scheduled(stage, "p")["message"].startswith("Scheduling is blocked")


def test_profiles_that_ask_for_it_gate_every_new_pod() -> None:
    server = Server(quota_gates({"podium"}))
    server.create(PODS, pod("ours", schedulerName="podium"))
    server.create(PODS, pod("theirs", schedulerName="other"))
    server.create(PODS, pod("placed", schedulerName="podium", nodeName="n"))
    gates = {
        each["metadata"]["name"]: each["spec"].get("schedulingGates")
        for each in server.ok("GET", PODS.path("default"))["items"]
    }
    assert gates == {"ours": [{"name": QUOTA_GATE}], "theirs": None, "placed": None}


def test_a_profile_says_whether_its_pods_are_gated() -> None:
    gated = read_profile({"actions": "allocate", "quotaGate": True})
    assert quota_gated({"a": gated, "b": read_profile({"actions": "allocate"})}) == {"a"}
    assert quota_gates(()) == ()
    (hook,) = quota_gates({"b", "a"})
    assert hook.condition == "object.spec.schedulerName in ['a', 'b']"
    with pytest.raises(UsageError, match="quotaGate: want true or false"):
        read_profile({"actions": "allocate", "quotaGate": "perhaps"})
