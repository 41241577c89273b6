"""Nodes: cordon, drain, taints, labels, and what happens to the pods."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.compat.client import Server, eventually
from tests.compat.objects import deployment, pod, template


@pytest.fixture
def node(server: Server) -> Iterator[str]:
    """A node that only this story's pods may use: it is put back in order afterwards."""
    name = "node-003"
    server.kubectl("label", "node", name, "stories.example/mine=yes", "--overwrite")
    yield name
    server.kubectl("uncordon", name)
    server.kubectl("taint", "node", name, "stories.example/keep-", check=False)
    server.kubectl("label", "node", name, "stories.example/mine-")


MINE = {"stories.example/mine": "yes"}


def test_cordon(server: Server, ns: str, node: str) -> None:
    assert server.kubectl("cordon", node).out == f"node/{node} cordoned\n"
    assert server.kubectl("cordon", node).out == f"node/{node} already cordoned\n"
    assert server.kubectl("get", "node", node, "--no-headers").lines[0].split()[1] == "Ready,SchedulingDisabled"
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("p", nodeSelector=MINE))
    wanted = "--for=jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    server.kubectl("wait", "-n", ns, wanted, "pod/p", "--timeout=30s")
    assert server.kubectl("uncordon", node).out == f"node/{node} uncordoned\n"
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")


def test_drain(server: Server, ns: str, node: str) -> None:
    body = deployment("web", 2)
    body["spec"]["template"] = template("web", nodeSelector=MINE)
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    server.kubectl("rollout", "status", "-n", ns, "deploy/web", "--timeout=30s")
    overrides = json.dumps({"spec": {"nodeName": node}})
    server.kubectl("run", "bare", "-n", ns, "--image=x", "--overrides", overrides)
    out = server.kubectl("drain", node, "--pod-selector=app=web", "--timeout=20s").out
    assert f"node/{node} drained" in out
    assert out.count(" evicted") == 2
    unmanaged = server.kubectl("drain", node, "--timeout=5s", check=False)
    assert unmanaged.code == 1
    assert "cannot delete Pods that declare no controller" in unmanaged.err
    server.kubectl("drain", node, "--force", "--timeout=40s", "--ignore-daemonsets", "--delete-emptydir-data")
    assert server.http("GET", f"/api/v1/namespaces/{ns}/pods/bare").status == 404


def test_drain_waits_for_a_budget(server: Server, ns: str, node: str) -> None:
    body = deployment("web", 1)
    body["spec"]["template"] = template("web", nodeSelector=MINE)
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    server.kubectl("rollout", "status", "-n", ns, "deploy/web", "--timeout=30s")
    server.kubectl("create", "pdb", "keep", "-n", ns, "--selector=app=web", "--min-available=1")
    server.kubectl("wait", "-n", ns, "--for=jsonpath={.status.currentHealthy}=1", "pdb/keep", "--timeout=30s")
    stuck = server.kubectl("drain", node, "--pod-selector=app=web", "--timeout=2s", check=False)
    assert stuck.code == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget." in stuck.err
    assert server.kubectl("get", "deploy", "web", "-n", ns, "-o", "jsonpath={.status.readyReplicas}").out == "1"
    head, row = server.kubectl("get", "pdb", "-n", ns).lines
    assert [column.strip() for column in head.split("   ") if column.strip()] == [
        *("NAME", "MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"),
    ]
    assert row.split()[:4] == ["keep", "1", "N/A", "0"]


def test_taints(server: Server, ns: str, node: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("p", nodeSelector=MINE))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    server.kubectl("taint", "node", node, "stories.example/keep=x:NoSchedule")
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("q", nodeSelector=MINE))
    wanted = "--for=jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    server.kubectl("wait", "-n", ns, wanted, "pod/q", "--timeout=30s")
    tolerations = [{"key": "stories.example/keep", "operator": "Exists"}]
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("r", nodeSelector=MINE, tolerations=tolerations))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/r", "--timeout=30s")
    server.kubectl("taint", "node", node, "stories.example/keep=x:NoExecute")
    server.kubectl("wait", "-n", ns, "--for=delete", "pod/p", "--timeout=30s")
    assert server.kubectl("get", "pod", "r", "-n", ns, "--no-headers").lines[0].split()[2] == "Running"
    server.kubectl("taint", "node", node, "stories.example/keep-")
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/q", "--timeout=30s")


def test_default_tolerations_of_a_pod(server: Server, ns: str) -> None:
    server.kubectl("run", "p", "-n", ns, "--image=x")
    found = server.kubectl("get", "pod", "p", "-n", ns, "-o", "json").json["spec"]["tolerations"]
    assert {(t["key"], t["effect"], t["operator"], t["tolerationSeconds"]) for t in found} == {
        ("node.kubernetes.io/not-ready", "NoExecute", "Exists", 300),
        ("node.kubernetes.io/unreachable", "NoExecute", "Exists", 300),
    }


def test_a_node_made_by_hand_becomes_a_simulated_one(server: Server, ns: str) -> None:
    made = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "by-hand", "labels": {"stories.example/hand": "y"}},
    }
    server.kubectl("apply", "-f", "-", input=made)
    server.kubectl("wait", "--for=condition=Ready", "node/by-hand", "--timeout=30s")
    eventually(
        lambda: not server.get("/api/v1/nodes/by-hand")["spec"].get("taints"), "the node is no longer tainted"
    )
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("p", nodeSelector={"stories.example/hand": "y"}))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    server.kubectl("delete", "pod", "p", "-n", ns, "--timeout=30s")
    server.kubectl("delete", "node", "by-hand")
