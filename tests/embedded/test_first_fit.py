"""The scheduler's stand-in, with the kubelets, in virtual time."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.shapes import Shape
from podium.embedded.standin import FirstFit
from podium.kube.changes import Create
from podium.kube.resources import NODES, PODS
from tests.embedded.world import World, condition


@pytest.fixture
def world() -> World:
    return World(lambda: (*simulated_kubelets(), FirstFit()))


def node_of(world: World, name: str) -> str:
    found: str = world.get(PODS, name)["spec"].get("nodeName", "")
    return found


def test_the_first_node_with_room_is_taken(world: World) -> None:
    for name in ("b", "a"):
        world.node(name, Shape(cpu="4"))
    for number in range(4):
        world.pod(f"p{number}", node="", requests={"cpu": "2"}, schedulerName="any")
    world.settle()
    assert [node_of(world, f"p{number}") for number in range(4)] == ["a", "a", "b", "b"]
    assert all(world.status(f"p{number}")["phase"] == "Running" for number in range(4))
    assert Counter(event["reason"] for event in world.events()) == {"Scheduled": 4, "Started": 4}


def test_who_fits_nowhere_is_told_why_and_waits(world: World) -> None:
    world.node("a", Shape(cpu="4"))
    world.node("b", Shape(cpu="8", taints=[]))
    world.patch(NODES, "b", {"spec": {"unschedulable": True}})
    world.pod(node="", requests={"cpu": "6"})
    world.settle()
    told = condition(world.status(), "PodScheduled")
    assert (told["status"], told["reason"]) == ("False", "Unschedulable")
    assert told["message"] == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    world.patch(NODES, "b", {"spec": {"unschedulable": None}})
    world.settle()
    assert node_of(world, "pod") == "b"
    assert condition(world.status(), "PodScheduled")["status"] == "True"


def test_no_nodes_at_all(world: World) -> None:
    world.pod(node="")
    world.settle()
    assert condition(world.status(), "PodScheduled")["message"] == "0/0 nodes are available: there are none."


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


def test_a_bind_that_was_lost_is_made_again(world: World) -> None:
    world.node("a")
    world.pod(node="")
    world.take_in()
    (bind,) = [ticket for ticket in world.manager.run(world.now) if isinstance(ticket.change, Create)]
    world.manager.done(bind, None, TimeoutError("no answer"), world.now)
    world.settle()
    assert node_of(world, "pod") == ""
    world.pass_seconds(6)
    assert node_of(world, "pod") == "a"


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
