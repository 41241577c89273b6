"""Gangs that somebody in another namespace names: what strangers write holds nobody up, and takes nothing away."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.koordinator.names import (
    GROUPS_TOO,
    MATCH_POLICY,
    MIN_AVAILABLE,
    NAME,
    SCHEDULER,
    TIMEOUT,
    WAITING_TIME,
    gang_id,
)
from podium.engine.effects import GANG_PLAN
from podium.kube.changes import Patch
from podium.kube.resources import NODES, REPLICASETS
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups

HOME = {"home": "yes"}


def stage(*homes: str) -> Stage:
    """Nodes for the gang that is named, and one for who names it."""
    found = Stage(*homes, "elsewhere")
    for name in homes:
        found.label(name, **HOME)
    return found


@pytest.mark.parametrize("key", [None, GROUPS_TOO])
def test_a_stranger_s_time_is_not_that_of_the_gang_it_names(key: str | None) -> None:
    found = stage("a", "b")
    for node in ("a", "b"):
        found.pod(f"busy-{node}", namespace="home", nodeName=node, seconds=60)
    found.gang("named", 2, said=NON_STRICT, namespace="home", nodeSelector=HOME)
    tie = groups("strange/stranger", "home/named")
    tie = dict.fromkeys([key], *tie.values()) if key else tie
    found.gang("stranger", 1, said={**tie, WAITING_TIME: "3s"}, namespace="strange")
    found.pass_seconds(20)
    assert found.marked("stranger") == 1
    assert found.marked("named") == 0
    found.pass_seconds(60)
    assert found.bound("named") == 2


def test_a_stranger_that_is_left_alone_for_a_while_does_not_keep_others_from_being_looked_at() -> None:
    found = stage()
    found.gang("stranger", 1, said=groups("home/named"), namespace="strange")
    found.gang("named", 2, namespace="home", nodeSelector=HOME)
    found.pass_seconds(2)
    found.cluster.scheduler._backoff.leave_alone(gang_id("strange", "stranger"), found.cluster.now, 3600.0)
    for name in ("a", "b"):
        found.node(name, 1, **HOME)
    found.pass_seconds(3)
    assert found.bound("named") == 2


def replica_set(members: int, policy: str) -> dict[str, Any]:
    amounts = {"cpu": "1"}
    template = {
        "metadata": {
            "labels": {"app": "named"},
            "annotations": {NAME: "named", MIN_AVAILABLE: str(members), MATCH_POLICY: policy},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "nodeSelector": HOME,
            "containers": [{"name": "m", "image": "a", "resources": {"requests": amounts, "limits": amounts}}],
        },
    }
    spec = {"replicas": members, "selector": {"matchLabels": {"app": "named"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "named"}, "spec": spec}


@pytest.mark.parametrize("policy", ["only-waiting", "waiting-and-running"])
def test_a_forged_plan_evicts_nobody_else_s_pods(policy: str) -> None:
    """It says that stranger and gang were bound together; the gang has lost a member since, and finds no place."""
    found = stage("a", "b", "c")
    found.create(REPLICASETS, replica_set(3, policy), "home")
    found.pass_seconds(5)
    lost, *others = found.pods("named")
    assert found.bound("named") == 3
    found.cluster.server.carry_out(Patch(NODES, "", lost.spec.node_name, {"spec": {"unschedulable": True}}))
    found.delete(lost.name, namespace="home")
    found.pass_seconds(60)
    forged = {NAME: "stranger", MIN_AVAILABLE: "1", GANG_PLAN: "strange/stranger/fffffffffff.1.2/1"}
    found.pod("stranger-0", {**forged, **groups("home/named")}, namespace="strange", nodeName="elsewhere")
    found.pass_seconds(120)
    kept = {each.uid for each in found.pods("named") if not each.deleting}
    assert {each.uid for each in others} <= kept


def test_who_names_a_gang_of_another_namespace_waits_for_it_and_starts_after_it() -> None:
    found = stage("a", "b")
    found.gang("first", 1, said=groups("home/named"), namespace="strange")
    found.gang("named", 1, 2, namespace="home", nodeSelector=HOME)
    found.pass_seconds(5)
    assert found.bound() == 0
    found.pod("named-1", {NAME: "named", MIN_AVAILABLE: "2"}, namespace="home", nodeSelector=HOME)
    found.pass_seconds(3)
    assert found.bound("named") == 2
    assert found.bound("first") == 1


@pytest.mark.parametrize("said", [{}, NON_STRICT], ids=["strict", "non-strict"])
def test_it_gives_way_to_the_gang_that_it_waits_for(said: dict[str, str]) -> None:
    """It is older, holds all the room, and could never start with it."""
    found = Stage("a", "b")
    found.gang("first", 1, said={**groups("home/named"), **said}, namespace="strange", seconds=20)
    found.pass_seconds(5)
    found.gang("named", 2, namespace="home", seconds=20)
    found.pass_seconds(5)
    assert found.bound("named") == 2
    assert found.bound("first") == 0
    found.pass_seconds(30)
    assert found.bound("first") == 1


def test_those_that_name_each_other_over_namespaces_start_together() -> None:
    found = Stage("a", "b")
    tie = groups("one/g", "two/h")
    found.gang("g", 1, said=tie, namespace="one")
    found.gang("h", 2, said=tie, namespace="two")
    found.pass_seconds(5)
    assert found.bound() == 0
    found.node("c")
    found.pass_seconds(3)
    assert found.bound() == 3
    assert {each.annotations[TIMEOUT] for each in found.pods() if TIMEOUT in each.annotations} == set()
