"""Pools: whose nodes are whose, whose pods are whose, and how that moves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.pool_stage import DEFAULT_POOL, GPU, PoolStage


@pytest.fixture
def stage() -> PoolStage:
    return PoolStage()


# --- nodes -------------------------------------------------------------------------------------------------------


def test_a_node_that_two_pools_select_is_nobody_s_but_the_default_pool_s(stage: PoolStage) -> None:
    stage.pool("cpu-pool", {"cpu": "true"})
    stage.pool("gpu-pool", {"gpu": "true"})
    stage.add_node("n1", labels={"cpu": "true", "gpu": "true"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["n1"], "cpu-pool": [], "gpu-pool": []}
    said = stage.warnings("n1")
    assert said == ["the selectors of cpu-pool and gpu-pool both match it, so it belongs to Default"]


def test_the_masters_pool_has_the_nodes_with_the_role(stage: PoolStage) -> None:
    closed = {"disablePreemption": True, "disableBorrowing": True, "disableSharing": True}
    stage.pool("masters", {"kubernetes.io/role": "master"}, **closed)
    stage.add_node("m1", labels={"kubernetes.io/role": "master"})
    stage.add_node("w1", labels={"kubernetes.io/role": "node"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["w1"], "masters": ["m1"]}


def test_every_label_of_a_selector_must_match(stage: PoolStage) -> None:
    stage.pool("p", {"a": "1", "b": "1"})
    stage.add_node("n1", labels={"a": "1"})
    stage.add_node("n2", labels={"a": "1", "b": "1"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["n1"], "p": ["n2"]}


@pytest.mark.parametrize(
    ("operator", "values", "found"),
    [
        ("In", ["a", "b"], ["n-a", "n-b"]),
        ("NotIn", ["a"], ["n-b", "n-c", "none"]),
        ("Exists", [], ["n-a", "n-b", "n-c"]),
        ("DoesNotExist", [], ["none"]),
    ],
)
def test_expressions_select_as_everywhere(
    stage: PoolStage, operator: str, values: list[str], found: list[str]
) -> None:
    expression = {"key": "kind", "operator": operator, **({"values": values} if values else {})}
    stage.pool("p", nodeSelector={"matchExpressions": [expression]})
    for kind in "abc":
        stage.add_node(f"n-{kind}", labels={"kind": kind})
    stage.add_node("none")
    stage.settle()
    assert stage.members()["p"] == found


def test_nodes_by_the_resources_that_they_offer(stage: PoolStage) -> None:
    stage.pool("gpus", nodeSelector=None, supportResources=[GPU])
    stage.pool("both", {"zone": "x"}, supportResources=["example.com/fpga"])
    stage.add_node("g", gpus=2)
    stage.add_node("c")
    stage.add_node("z", labels={"zone": "x"})
    stage.add_node("zf", labels={"zone": "x"}, room={"example.com/fpga": "1"})
    stage.add_node("f", room={"example.com/fpga": "1"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["c", "f", "z"], "both": ["zf"], "gpus": ["g"]}


def test_a_selector_that_selects_nothing_has_no_nodes_and_says_so(stage: PoolStage) -> None:
    stage.pool("none", nodeSelector=None)
    stage.pool("empty", {})
    stage.add_node("n1", labels={"x": "1"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["n1"], "empty": [], "none": []}
    for name in ("none", "empty"):
        assert "it selects no node" in stage.warnings(name)[0]
        assert stage.status(name)["conditions"][0]["status"] == "False"


def test_relabelling_a_node_moves_it(stage: PoolStage) -> None:
    stage.pool("a")
    stage.pool("b")
    stage.add_node("n1", "a")
    stage.settle()
    stage.relabel("n1", {"pool": "b"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: [], "a": [], "b": ["n1"]}


def test_a_second_pool_that_selects_a_node_pushes_it_to_default_until_it_goes(stage: PoolStage) -> None:
    stage.pool("a", {"x": "1"})
    stage.add_node("n1", labels={"x": "1", "y": "1"})
    stage.settle()
    stage.pool("b", {"y": "1"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["n1"], "a": [], "b": []}
    stage.delete_pool("b")
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: [], "a": ["n1"]}


def test_a_pool_edited_and_made_again_under_another_name(stage: PoolStage) -> None:
    stage.pool("a", {"x": "1"})
    stage.add_node("n1", labels={"x": "1", "y": "1"})
    stage.edit_pool("a", nodeSelector={"matchLabels": {"x": None, "z": "1"}})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: ["n1"], "a": []}
    stage.task("p", "a", cpu=8)
    stage.settle()
    stage.delete_pool("a")
    stage.pool("c", {"y": "1"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: [], "c": ["n1"]}
    assert stage.home_of("p") == DEFAULT_POOL


# --- pods --------------------------------------------------------------------------------------------------------


def test_the_annotation_chooses_the_queue(stage: PoolStage) -> None:
    stage.pool("cpu-pool")
    stage.task("named", "cpu-pool")
    stage.task("unnamed")
    stage.task("lost", "gone")
    stage.task("spelt", "Default")
    stage.task("empty", "")
    stage.settle()
    homes = {name: stage.home_of(name) for name in ("named", "unnamed", "lost", "spelt", "empty")}
    assert homes == {
        "named": "cpu-pool",
        "unnamed": DEFAULT_POOL,
        "lost": DEFAULT_POOL,
        "spelt": DEFAULT_POOL,
        "empty": DEFAULT_POOL,
    }


def test_a_pod_whose_pool_does_not_exist_says_so_once(stage: PoolStage) -> None:
    stage.pool("a")
    stage.add_node("n1")
    stage.task("lost", "gone")
    stage.task("unnamed")
    stage.settle()
    assert stage.warnings("lost") == ["queue gone does not exist, so it is in Default"]
    assert stage.warnings("unnamed") == []
    stage.task("waits", "a", 9)
    stage.settle()
    stage.delete_pool("a")
    stage.settle(60)
    said = [each for each in stage.warnings("waits") if "does not exist" in each]
    assert said == ["queue a does not exist, so it is in Default"]


def test_pods_of_another_scheduler_are_left_to_it(stage: PoolStage) -> None:
    stage.pool("a")
    stage.add_node("na", "a")
    stage.task("p", "a", scheduler="their-scheduler")
    stage.settle()
    assert stage.placed == {}
    assert stage.message("p") == ""


def test_waiting_pods_of_a_deleted_pool_go_to_default_and_back_when_it_is_made_again(stage: PoolStage) -> None:
    stage.pool("a")
    stage.task("p1", "a")
    stage.task("p2", "a")
    stage.settle()
    assert stage.pool_names == [DEFAULT_POOL, "a"]
    stage.delete_pool("a")
    stage.settle()
    assert (stage.home_of("p1"), stage.home_of("p2")) == (DEFAULT_POOL, DEFAULT_POOL)
    assert stage.pool_names == [DEFAULT_POOL]
    stage.pool("a")
    stage.pool("b")
    stage.settle()
    assert stage.home_of("p1") == "a"
    assert stage.pool_names == [DEFAULT_POOL, "a", "b"]
    stage.add_node("n1")  # the Default pool's, which lends
    stage.settle()
    assert stage.placed == {"p1": "n1", "p2": "n1"}


def test_a_pod_that_names_another_pool_is_at_home_there_at_once(stage: PoolStage) -> None:
    stage.pool("a", disableBorrowing=True)
    stage.pool("b")
    stage.add_node("na", "a", cpu=2)
    stage.add_node("nb", "b", cpu=1)
    stage.task("runs", "a", node="na", priority=9)
    stage.task("waits", "a")
    stage.task("goes", "a", 1)
    stage.settle()
    stage.rename_pool("goes", "b")
    stage.settle(1)
    assert stage.placed == {"runs": "na", "goes": "nb"}
    stage.rename_pool("runs", "b")
    stage.settle(1)
    assert stage.placed == {"waits": "na", "goes": "nb"}, "a borrower now, though of higher priority"


def test_a_pod_that_names_another_pool_while_it_runs_is_counted_as_a_guest(stage: PoolStage) -> None:
    stage.pool("a")
    stage.pool("b")
    stage.add_node("na", "a")
    stage.task("runs", "a", node="na")
    stage.settle()
    assert stage.status("a")["shared"]["cpu"] == "0"
    stage.rename_pool("runs", "b")
    stage.settle()
    assert stage.status("a")["shared"]["cpu"] == stage.status("b")["borrowed"]["cpu"] == "2"


def test_who_was_there_before_a_pool_that_does_not_share_stays_and_nobody_else_comes(stage: PoolStage) -> None:
    """A pod may be seen before the pools: then it is the Default pool's, and all nodes are."""
    stage.add_node("m1", labels={"kubernetes.io/role": "master"})
    stage.task("early", "cpu-pool")
    stage.settle()
    assert stage.placed == {"early": "m1"}
    closed = {"disablePreemption": True, "disableBorrowing": True, "disableSharing": True}
    stage.pool("masters", {"kubernetes.io/role": "master"}, **closed)
    stage.pool("cpu-pool", {"cpu": "true"})
    stage.settle()
    assert stage.home_of("early") == "cpu-pool"
    assert stage.status("masters")["shared"]["pods"] == "1"
    stage.task("late", "cpu-pool")
    stage.task("own", "masters", 4)
    stage.settle(60)
    assert stage.running == {"early": "m1"}, "no preemption there, so nobody is taken back"
    stage.edit_pool("masters", disablePreemption=False)
    stage.settle(60)
    assert stage.running == {"own": "m1"}


def test_an_object_gives_the_default_pool_its_flags(stage: PoolStage) -> None:
    stage.pool("a")
    stage.add_node("n1")
    stage.pool("default", nodeSelector=None, disableSharing=True)
    stage.task("p", "a")
    stage.settle()
    assert stage.placed == {}
    assert stage.pool_names == [DEFAULT_POOL, "a"]
    assert stage.status("default")["nodes"] == ["n1"]
    stage.delete_pool("default")
    stage.settle()
    assert stage.placed == {"p": "n1"}


def test_old_fields_have_no_effect_and_what_cannot_be_taken_back_is_said(stage: PoolStage) -> None:
    """With the types that version 0.2.0 gave them: objects of then stay valid."""
    old: dict[str, Any] = {"weight": {"cpu": 3}, "quota": {"cpu": "4"}, "priority": 1}
    stage.pool("a", **old, priorities=[{"name": "x", "weight": 1}], disablePreemption=True)
    stage.settle()
    said = " ".join(stage.warnings("a"))
    for field in ("weight", "quota", "priorities", "priority"):
        assert f"spec.{field} has no effect" in said
    assert "spec.disablePreemption: what is lent to others cannot be taken back" in said


def test_a_selector_that_cannot_be_read_concerns_its_pool_alone(stage: PoolStage) -> None:
    wrong = {"matchExpressions": [{"key": "x", "operator": "Like", "values": ["y"]}]}
    stage.pool("bad", nodeSelector=wrong)
    stage.pool("good", {"x": "1"})
    stage.add_node("n1", labels={"x": "1"})
    stage.settle()
    assert stage.members() == {DEFAULT_POOL: [], "bad": [], "good": ["n1"]}
    assert "spec.nodeSelector" in stage.warnings("bad")[0]


# --- what is told ------------------------------------------------------------------------------------------------


def test_status_counts_nodes_and_who_uses_them(stage: PoolStage) -> None:
    stage.pool("a")
    stage.pool("b")
    stage.add_node("n1", "a", cpu=8)
    stage.add_node("n2", "a", cpu=8)
    stage.task("own", "a", 3, node="n1")
    stage.task("guest", "b", 2, node="n1")
    stage.task("system", None, 1, node="n2", scheduler="default-scheduler")
    stage.task("waits", "a", 20)
    stage.settle()
    found = stage.status("a")
    assert found["capacity"]["cpu"] == found["allocatable"]["cpu"] == "16"
    assert (found["used"]["cpu"], found["shared"]["cpu"], found["system"]["cpu"]) == ("6", "3", "1")
    assert (found["used"]["pods"], found["shared"]["pods"], found["pending"]["pods"]) == ("3", "2", "1")
    assert (found["pending"]["cpu"], found["nodes"], found["nodeCount"]) == ("20", ["n1", "n2"], 2)
    assert found["pods"] == 3
    assert found["conditions"][0]["type"] == "Ready"
    assert stage.status("b")["borrowed"] == {"cpu": "2", "memory": "0", "pods": "1"}
    stage.task("not-ours", "b", 1, node="n2", scheduler="default-scheduler")
    stage.settle()
    assert stage.status("b")["borrowed"] == {"cpu": "2", "memory": "0", "pods": "1"}
    stage.add_node("n3", "b")
    stage.task("nor-this", "b", 1, node="n3", scheduler="default-scheduler")
    stage.settle()
    assert stage.status("b")["borrowed"] == {"cpu": "2", "memory": "0", "pods": "1"}
