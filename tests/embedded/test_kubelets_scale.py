"""Ten thousand nodes and many pods: bounded time, bounded memory, nothing to do at rest."""

from __future__ import annotations

import time
import tracemalloc

import msgspec

from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.shapes import Shape, node_document
from podium.kube.changes import Patch
from podium.kube.controller import Ticket
from podium.kube.manager import Manager
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Node, Pod

NODE_COUNT = 10_000
POD_COUNT = 20_000
NOW = 1_800_000_000.0


def make_pod(number: int, version: int, status: dict[str, object] | None = None) -> Pod:
    requests = {"cpu": "1", "memory": "1Gi"}
    document = {
        "metadata": {
            "name": f"pod-{number}",
            "namespace": "default",
            "uid": f"uid-{number}",
            "resourceVersion": str(version),
            "annotations": {"podium.dev/run-seconds": str(60 + number % 600)},
        },
        "spec": {
            "nodeName": f"node-{number % NODE_COUNT}",
            "containers": [{"name": "main", "image": "app:1", "resources": {"requests": requests}}],
        },
        "status": status or {"phase": "Pending"},
    }
    return msgspec.convert(document, Pod)


def observed(nodes: int, pods: int) -> Manager:
    manager = Manager(simulated_kubelets(events=False))
    for index in range(nodes):
        document = node_document(Shape(), f"node-{index}", index, NOW)
        document["metadata"] |= {"uid": f"node-uid-{index}", "resourceVersion": str(index + 1)}
        manager.observe(NODES, msgspec.convert(document, Node))
    for number in range(pods):
        manager.observe(PODS, make_pod(number, 10**6 + number))
    manager.synced(NODES)
    manager.synced(PODS)
    return manager


def settle(manager: Manager) -> list[Ticket]:
    tickets: list[Ticket] = []
    while (wake := manager.next_wake(NOW)) is not None and wake <= NOW:
        tickets += manager.run(NOW)
    return tickets


def answer(manager: Manager, tickets: list[Ticket]) -> None:
    """What the server would say: each pod with the status that was written."""
    for ticket in tickets:
        assert isinstance(ticket.change, Patch)
        number = int(ticket.key[1].removeprefix("pod-"))
        result = make_pod(number, 10**8 + number, ticket.change.patch["status"])
        manager.done(ticket, result, None, NOW)


def test_a_large_cluster() -> None:
    manager = observed(NODE_COUNT, POD_COUNT)
    begin = time.perf_counter()
    tickets = settle(manager)
    assert len(tickets) == POD_COUNT, "one write for each pod, none for the nodes"
    answer(manager, tickets)
    assert settle(manager) == []
    assert time.perf_counter() - begin < 30, "far more than a quiet machine needs"

    wake = manager.next_wake(NOW)
    assert wake == NOW + 60
    assert manager.run(wake - 1) == []
    ended = manager.run(wake, budget=POD_COUNT)
    assert len(ended) == sum(number % 600 == 0 for number in range(POD_COUNT))


def test_a_running_pod_costs_little_beside_its_struct() -> None:
    count = 1000
    manager = observed(100, count)
    answer(manager, settle(manager))
    settle(manager)
    tracemalloc.start()
    again = observed(100, count)
    observed_only, _ = tracemalloc.get_traced_memory()
    answer(again, settle(again))
    settle(again)
    running, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The struct itself grows with its status: two lists, five conditions, a state.
    assert (running - observed_only) / count < 4000
