"""The scheduler beside the kubelets of an embedded cluster, in virtual time."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from podium.embedded.nodes.shapes import Shape
from podium.kube.resources import NODES, PODS
from tests.embedded.world import World, condition, scheduler


@pytest.fixture
def world() -> World:
    return World(scheduled=scheduler)


def node_of(world: World, name: str) -> str:
    found: str = world.get(PODS, name)["spec"].get("nodeName", "")
    return found


def test_pods_are_placed_and_told_where(world: World) -> None:
    for name in ("b", "a"):
        world.node(name, Shape(cpu="4"))
    for number in range(4):
        world.pod(f"p{number}", node="", requests={"cpu": "2"})
    world.pass_seconds(1)
    assert Counter(node_of(world, f"p{number}") for number in range(4)) == {"a": 2, "b": 2}
    assert all(world.status(f"p{number}")["phase"] == "Running" for number in range(4))
    assert Counter(event["reason"] for event in world.events()) == {"Scheduled": 4, "Started": 4}


def test_pods_of_other_schedulers_are_left_to_them(world: World) -> None:
    world.node("a")
    world.pod(node="", schedulerName="somebody-else")
    world.pass_seconds(1)
    assert node_of(world, "pod") == ""
    assert "conditions" not in world.status()


def test_who_fits_nowhere_is_told_why_and_waits(world: World) -> None:
    world.node("a", Shape(cpu="4"))
    world.node("b", Shape(cpu="8", taints=[]))
    world.patch(NODES, "b", {"spec": {"unschedulable": True}})
    world.pod(node="", requests={"cpu": "6"})
    world.settle()
    reported = condition(world.status(), "PodScheduled")
    assert (reported["status"], reported["reason"]) == ("False", "Unschedulable")
    assert reported["message"] == (
        "needs 6 cpu on one node: 1 node matches, the largest has 4: it can never start; "
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable"
    )
    world.patch(NODES, "b", {"spec": {"unschedulable": None}})
    world.pass_seconds(1)
    assert node_of(world, "pod") == "b"
    assert condition(world.status(), "PodScheduled")["status"] == "True"


def test_no_nodes_at_all(world: World) -> None:
    world.pod(node="")
    world.settle()
    assert condition(world.status(), "PodScheduled")["message"] == "there are no nodes"


def test_room_that_becomes_free_is_used(world: World) -> None:
    world.node("a", Shape(gpus=1))
    orders = {"podium.dev/run-seconds": "10"}
    for number in range(3):
        gpu = {"nvidia.com/gpu": "1"}
        world.pod(f"p{number}", node="", requests=gpu, annotations=orders, restartPolicy="Never")
    world.pass_seconds(30)
    ends = [
        world.status(f"p{number}")["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
        for number in range(3)
    ]
    assert len(set(ends)) == 3
    assert all(world.status(f"p{number}")["phase"] == "Succeeded" for number in range(3))


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], "b"),
        ([{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}], "a"),
        ([{"key": "dedicated", "operator": "Equal", "value": "other", "effect": "NoSchedule"}], "b"),
        ([{"key": "dedicated", "operator": "Exists"}], "a"),
        ([{"operator": "Exists"}], "a"),
        ([{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}], "b"),
    ],
)
def test_taints(world: World, tolerations: Any, expected: str) -> None:
    world.node("a")
    taint = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
    world.patch(NODES, "a", {"spec": {"taints": [taint]}})
    world.node("b", index=1)
    world.pod(node="", tolerations=tolerations)
    world.settle()
    assert node_of(world, "pod") == expected


def test_selectors_and_gates(world: World) -> None:
    world.node("a")
    world.node("b", Shape(labels={"disk": "ssd"}), index=1)
    world.pod("selects", node="", nodeSelector={"disk": "ssd"})
    world.pod("gated", node="", schedulingGates=[{"name": "example.com/wait"}])
    world.settle()
    assert node_of(world, "selects") == "b"
    assert node_of(world, "gated") == ""
    world.patch(PODS, "gated", {"spec": {"schedulingGates": []}})
    world.settle()
    assert node_of(world, "gated") == "a"


def test_a_thousand_pods_on_many_nodes_take_seconds(world: World) -> None:
    for index in range(200):
        world.node(f"node-{index:03d}", Shape(cpu="5"), index)
    for number in range(1000):
        world.pod(f"p{number}", node="", requests={"cpu": "1"})
    begin = time.perf_counter()
    world.settle()
    assert time.perf_counter() - begin < 10
    assert Counter(node_of(world, f"p{number}") for number in range(1000)) == {
        f"node-{index:03d}": 5 for index in range(200)
    }
