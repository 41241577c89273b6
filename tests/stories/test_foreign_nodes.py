"""Nodes that podium leaves to somebody else: a kubelet of another program, here a few lines of HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.client import Document, Server, eventually
from tests.compat.cluster import server_of
from tests.compat.objects import job, pod
from tests.up import podium_up

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
STRATEGIC = "application/strategic-merge-patch+json"

# Long enough for kubelets in the same process to have acted, if they were to.
QUIET_SECONDS = 1.0


class ForeignKubelet:
    """Does what a node controller such as kwok does, when it is asked to: patches the status of node and pods."""

    def __init__(self, server: Server, node: str) -> None:
        self.server, self.node = server, node

    def register(self) -> None:
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a foreign kubelet"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready], "phase": "Running"}
        self._patch(f"{NODES}/{self.node}/status", {"status": status})

    def bound(self) -> list[Document]:
        return list(self.server.get(PODS, fieldSelector=f"spec.nodeName={self.node}")["items"])

    def run(self, name: str, phase: str) -> None:
        running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-01T00:00:01Z"}}
        container = {"name": "main", "image": "x", "imageID": "", "restartCount": 0, "ready": phase == "Running"}
        state = running if phase == "Running" else ended
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        status = {
            "phase": phase,
            "podIP": "10.77.0.5",
            "conditions": [ready],
            "containerStatuses": [{**container, "state": state}],
        }
        self._patch(f"{PODS}/{name}/status", {"status": status})

    def remove(self, name: str) -> None:
        self.server.http("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0}).expect(200)

    def _patch(self, path: str, patch: Document) -> None:
        self.server.http("PATCH", path, patch, content_type=STRATEGIC).expect(200)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A cluster with one node of podium's own."""
    data = tmp_path / "data"
    with podium_up(data, "--nodes", "1", "--simulate-nodes", "own"):
        yield server_of(data / "kubeconfig", tmp_path)


def _node(name: str, **metadata: Document) -> Document:
    return {"metadata": {"name": name, **metadata}}


def _on(node: str, **more: Document) -> Document:
    return pod("lone", nodeSelector={"kubernetes.io/hostname": node}, **more)


def test_pods_on_a_foreign_node_are_run_by_its_own_kubelet(server: Server) -> None:
    labels = {"kubernetes.io/hostname": "foreign"}
    server.create(NODES, _node("foreign", labels=labels))
    server.create(PODS, _on("foreign"))
    time.sleep(QUIET_SECONDS)
    node = server.get(f"{NODES}/foreign")
    assert "conditions" not in node.get("status", {}), "nobody speaks for the node"
    assert "podCIDR" not in node.get("spec", {})
    kubelet = ForeignKubelet(server, "foreign")
    assert kubelet.bound() == [], "a node without room gets no pods"

    kubelet.register()
    eventually(kubelet.bound, "the pod is bound to the foreign node")
    time.sleep(QUIET_SECONDS)
    assert server.get(f"{PODS}/lone")["status"]["phase"] == "Pending", "podium does not run it"
    kubelet.run("lone", "Running")
    server.http("DELETE", f"{PODS}/lone").expect(200)
    time.sleep(QUIET_SECONDS)
    assert "deletionTimestamp" in server.get(f"{PODS}/lone")["metadata"], "nor does it end it"
    kubelet.remove("lone")
    assert server.http("GET", f"{PODS}/lone").status == 404


def test_a_job_ends_when_a_foreign_kubelet_says_so(server: Server) -> None:
    server.merge(f"{NODES}/node-000", {"spec": {"unschedulable": True}})
    server.create(NODES, _node("foreign"))
    kubelet = ForeignKubelet(server, "foreign")
    kubelet.register()
    server.create(JOBS, job("work", 2))
    eventually(lambda: len(kubelet.bound()) == 2, "both pods are on the foreign node")
    for each in kubelet.bound():
        kubelet.run(each["metadata"]["name"], "Succeeded")
    done = eventually(lambda: server.get(f"{JOBS}/work")["status"].get("completionTime"), "the Job is complete")
    assert done


def test_the_nodes_that_podium_made_and_those_marked_are_its_own(server: Server) -> None:
    server.create(PODS, _on("node-000"))
    eventually(lambda: server.get(f"{PODS}/lone")["status"].get("phase") == "Running", "podium's own node runs it")
    server.create(NODES, _node("adopted", annotations={"podium.dev/simulated": "true"}))
    eventually(lambda: server.get(f"{NODES}/adopted").get("status", {}).get("conditions"), "a node marked as ours")
