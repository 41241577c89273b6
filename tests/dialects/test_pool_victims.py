"""Who has to go for a pod of a full pool, and from which node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from podium.dialects.upstream.types import PODGROUPS, PodGroup
from podium.engine.dispatcher import CallType
from podium.kube.changes import Delete
from podium.kube.transport import MERGE_PATCH
from tests.dialects.pool_stage import PoolStage

PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

Victim = tuple[str, int]  # pool and priority


def nodes_of_a(rows: Mapping[str, Sequence[Victim]], options: str = "{}", **more: Any) -> PoolStage:
    """Pool a, whose nodes have one CPU for each victim; pods are called after their node, from 0."""
    stage = PoolStage(options)
    stage.pool("a", disableBorrowing=True)
    stage.pool("b", disableBorrowing=True)
    for node, victims in rows.items():
        stage.add_node(node, "a", cpu=len(victims))
        for number, (pool, priority) in enumerate(victims):
            labels = {"protected": "yes"} if f"{node}-{number}" in more.get("protected", ()) else {}
            stage.task(f"{node}-{number}", pool, 1, node=node, priority=priority, labels=labels)
    stage.settle()
    return stage


def budget(stage: PoolStage, allowed: int) -> None:
    selector = {"matchLabels": {"protected": "yes"}}
    document = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "pdb", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": selector},
    }
    stage.apply(document)
    status = {
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    }
    stage.server.ok("PATCH", f"{PDBS}/pdb/status", status, media=MERGE_PATCH)


def told(stage: PoolStage) -> list[str]:
    """Who was told to go, in order of names."""
    evictions = [each.change for each in stage.tickets if each.purpose == CallType.EVICT]
    return sorted(each.name for each in evictions if isinstance(each, Delete))


@pytest.mark.parametrize(
    ("rows", "cpu", "victims"),
    [
        ({"n1": [("a", 5)], "n2": [("a", 3)]}, 1, ["n2-0"]),
        ({"n1": [("a", 5), ("a", 0)], "n2": [("a", 3), ("a", 3)]}, 2, ["n2-0", "n2-1"]),
        ({"n1": [("a", 5), ("a", 3)], "n2": [("a", 5), ("a", 1)]}, 2, ["n2-0", "n2-1"]),
        ({"n1": [("b", 100)], "n2": [("a", 1)]}, 1, ["n1-0"]),
        ({"n1": [("b", 100), ("a", 1)], "n2": [("a", 0), ("a", 0)]}, 1, ["n1-0"]),
        ({"n1": [("a", 0), ("b", 7)], "n2": [("b", 9), ("b", 9)]}, 2, ["n2-0", "n2-1"]),
        ({"n1": [("a", 1), ("a", 2), ("b", 3)]}, 2, ["n1-0", "n1-2"]),
    ],
    ids=[
        "the lowest priority",
        "the lowest highest priority",
        "then the lowest sum",
        "borrowers count least",
        "no more than are needed",
        "a node with borrowers alone",
        "borrowers first then the lowest",
    ],
)
def test_victims(rows: Mapping[str, Sequence[Victim]], cpu: int, victims: list[str]) -> None:
    stage = nodes_of_a(rows)
    stage.task("p", "a", cpu, priority=10)
    stage.settle()
    assert told(stage) == victims


def test_the_fewest_victims() -> None:
    stage = PoolStage()
    stage.pool("a", disableBorrowing=True)
    stage.add_node("n1", "a", cpu=2)
    stage.add_node("n2", "a", cpu=2)
    for number in range(2):
        stage.task(f"n1-{number}", "b", 1, node="n1")
    stage.task("n2-0", "b", 2, node="n2")
    stage.settle()
    stage.task("p", "a", 2)
    stage.settle()
    assert told(stage) == ["n2-0"]


def test_the_fewest_broken_budgets_come_before_priorities() -> None:
    rows = {"n1": [("a", 1)], "n2": [("a", 4)]}
    stage = nodes_of_a(rows, protected=["n1-0"])
    budget(stage, 0)
    stage.task("p", "a", 1, priority=10)
    stage.settle()
    assert told(stage) == ["n2-0"]


@pytest.mark.parametrize("strict", [False, True])
def test_a_budget_is_broken_as_a_last_resort_or_never(strict: bool) -> None:
    stage = nodes_of_a({"n1": [("b", 0)]}, "{pdb: strict}" if strict else "{}", protected=["n1-0"])
    budget(stage, 0)
    stage.task("p", "a", 1)
    stage.settle()
    assert told(stage) == ([] if strict else ["n1-0"])


def test_a_budget_with_room_is_no_hindrance_to_a_strict_profile() -> None:
    stage = nodes_of_a({"n1": [("b", 0)]}, "{pdb: strict}", protected=["n1-0"])
    budget(stage, 1)
    stage.task("p", "a", 1)
    stage.settle()
    assert told(stage) == ["n1-0"]


def test_only_pods_of_this_scheduler_are_victims() -> None:
    stage = PoolStage()
    stage.pool("a", disableBorrowing=True)
    stage.add_node("n1", "a", cpu=1)
    stage.task("theirs", "b", 1, node="n1", scheduler="default-scheduler")
    stage.settle()
    stage.task("p", "a", 1, priority=10)
    stage.settle()
    assert told(stage) == []


def test_the_event_of_a_bare_pod_says_that_nobody_makes_it_again() -> None:
    stage = nodes_of_a({"n1": [("b", 0)]})
    stage.task("p", "a", 1)
    stage.settle()
    assert [each["message"] for each in stage.events("n1-0") if each["reason"] == "Preempted"] == [
        "taken back for default/p; nothing makes this pod again"
    ]


def test_pods_that_do_not_preempt_wait() -> None:
    stage = nodes_of_a({"n1": [("b", 0)]})
    stage.task("p", "a", 1, preemptionPolicy="Never")
    stage.settle()
    assert told(stage) == []


def test_borrowers_go_at_once_and_others_within_their_own_grace() -> None:
    stage = nodes_of_a({"n1": [("b", 0)], "n2": [("a", 0)]})
    stage.task("p", "a", 1, priority=10)
    stage.task("q", "a", 1, priority=10)
    stage.settle()
    graces = {
        each.change.name: each.change.grace
        for each in stage.tickets
        if each.purpose == CallType.EVICT and isinstance(each.change, Delete)
    }
    assert graces == {"n1-0": 0, "n2-0": None}


@pytest.mark.argument("takeback", "graceSeconds")
def test_the_grace_of_borrowers_is_an_option() -> None:
    stage = nodes_of_a({"n1": [("b", 0)]}, "{takeBackGraceSeconds: 20}")
    stage.task("p", "a", 1)
    stage.settle()
    (eviction,) = (each.change for each in stage.tickets if each.purpose == CallType.EVICT)
    assert isinstance(eviction, Delete)
    assert eviction.grace == 20
    assert stage.nominated("p") == "n1"


@pytest.mark.argument("takeback", "maxCandidateNodesAbsolute")
def test_how_many_nodes_are_compared() -> None:
    rows = {"n1": [("a", 5)], "n2": [("a", 3)]}
    stage = nodes_of_a(rows, "{configurations: [{name: takeback, arguments: {maxCandidateNodesAbsolute: 1}}]}")
    stage.task("p", "a", 1, priority=10)
    stage.settle()
    assert told(stage) == ["n1-0"]


# --- gangs -------------------------------------------------------------------------------------------------------


def gang(
    stage: PoolStage, name: str, pool: str | None, members: Sequence[str], minimum: int, priority: int = 0
) -> None:
    """A group of Kubernetes' own with a pod on each of these nodes, or one that waits."""
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "priority": priority},
    }
    stage.scheduler.observe(PODGROUPS, msgspec.convert(document, PodGroup))  # the server has no such kind
    for number, node in enumerate(members):
        spec: dict[str, Any] = {"schedulingGroup": {"podGroupName": name}}
        stage.task(f"{name}-{number}", pool, 1, node=node, priority=priority, **spec)


def test_a_gang_goes_whole_or_gives_what_it_can_spare() -> None:
    for minimum, victims in ((3, ["g-0", "g-1", "g-2"]), (2, ["g-2"]), (1, ["g-2"])):
        stage = PoolStage()
        stage.pool("a", disableBorrowing=True)
        stage.pool("b")
        for node in ("n1", "n2"):
            stage.add_node(node, "b" if node == "n2" else "a", cpu=2)
        gang(stage, "g", "b", ["n2", "n2", "n1"], minimum)
        stage.task("x", "a", 1, node="n1", priority=20)
        stage.settle()
        stage.task("p", "a", 1)
        stage.settle()
        assert told(stage) == victims, minimum


def test_a_gang_at_home_goes_only_for_a_task_before_all_of_it() -> None:
    stage = nodes_of_a({})
    stage.add_node("n3", "a", cpu=1)
    stage.add_node("n4", "a", cpu=1)
    gang(stage, "g", "a", ["n3"], 2, priority=1)
    group: dict[str, Any] = {"schedulingGroup": {"podGroupName": "g"}}
    stage.task("leader", "a", 1, node="n4", priority=100, **group)
    stage.settle()
    stage.task("p", "a", 1, priority=5)
    stage.settle()
    assert told(stage) == []
    stage.task("q", "a", 1, priority=101)
    stage.settle()
    assert told(stage) == ["g-0", "leader"]


def test_members_beyond_the_minimum_push_out_guests_as_well() -> None:
    """Each of them is at home: none waits while a borrower has its room, whatever else finds no place."""
    stage = PoolStage()
    stage.pool("a", disableBorrowing=True)
    stage.pool("b")
    stage.add_node("n1", "a", cpu=3)
    for name in ("x", "y"):
        stage.task(name, "b", 1, node="n1")
    stage.settle()
    gang(stage, "g", "a", ["", ""], 1)
    group: dict[str, Any] = {"schedulingGroup": {"podGroupName": "g"}}
    stage.task("g-huge", "a", 64, priority=5, **group)
    stage.task("g-2", "a", 1, **group)
    stage.settle()
    assert stage.placed == {"g-0": "n1", "g-1": "n1", "g-2": "n1"}
    assert told(stage) == ["x", "y"]


def test_a_gang_makes_room_for_all_of_it_or_for_none() -> None:
    stage = nodes_of_a({"n1": [("b", 0)], "n2": [("b", 0)], "n3": [("a", 50)]})
    gang(stage, "big", "a", ["", "", ""], 3, priority=10)
    stage.settle()
    assert told(stage) == []
    gang(stage, "small", "a", ["", ""], 2, priority=5)
    stage.settle()
    assert told(stage) == ["n1-0", "n2-0"]
    assert {name for name in stage.placed if name.startswith("small")} == {"small-0", "small-1"}


def test_a_gang_borrows_whole_from_one_lender() -> None:
    stage = PoolStage()
    stage.pool("a")
    for name, cpu in (("b", 2), ("c", 3)):
        stage.pool(name)
        stage.add_node(f"n{name}", name, cpu=cpu)
    gang(stage, "four", "a", ["", "", "", ""], 4)
    stage.settle()
    assert stage.placed == {}
    gang(stage, "three", "a", ["", "", ""], 3)
    stage.settle()
    assert stage.placed == {f"three-{number}": "nc" for number in range(3)}


def test_a_gang_that_names_no_pool_is_the_default_pool_s() -> None:
    """It borrows as pods of that do, and is at home on its nodes."""
    stage = PoolStage()
    stage.pool("b")
    stage.add_node("nb", "b", cpu=2)
    gang(stage, "g", None, ["", ""], 2)
    stage.settle()
    assert stage.placed == {"g-0": "nb", "g-1": "nb"}
    assert stage.home_of("g-0") == "Default"
    stage.add_node("nd", cpu=2)
    gang(stage, "h", None, ["", ""], 2)
    stage.settle()
    assert stage.placed["h-0"] == stage.placed["h-1"] == "nd"
    reports = stage.world.reports.all()
    assert not reports["aibee/Default"].shared
    assert reports["aibee/Default"].borrowed["cpu"] == reports["aibee/b"].shared["cpu"] == 2000


def test_who_names_a_pool_speaks_for_an_older_member_that_names_none() -> None:
    stage = PoolStage()
    stage.pool("b")
    stage.add_node("nb", "b", cpu=2)
    stage.add_node("nd", cpu=2)
    gang(stage, "g", None, [""], 2)
    stage.server.now += 10
    stage.task("younger", "b", 1, schedulingGroup={"podGroupName": "g"})
    stage.settle()
    assert stage.placed == {"g-0": "nb", "younger": "nb"}
