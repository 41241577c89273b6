"""kubectl get, describe and events: how a cluster looks to people."""

from __future__ import annotations

import json

import pytest

from tests.compat.client import Server, eventually
from tests.compat.objects import NOWHERE, configmap, container, deployment, job, pod


@pytest.fixture
def running(server: Server, ns: str) -> str:
    """A namespace with one pod that runs."""
    body = pod("p", labels={"app": "web"}, containers=[container(resources={"requests": {"cpu": "1"}})])
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    return ns


def test_pods_as_people_know_them(server: Server, running: str) -> None:
    head, row = server.kubectl("get", "pods", "-n", running).lines
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == ["p", "1/1", "Running", "0"]
    head, row = server.kubectl("get", "po", "-n", running, "-o", "wide").lines
    columns = ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert [column.strip() for column in head.split("   ") if column.strip()] == columns
    assert row.split()[5].count(".") == 3
    assert row.split()[6].startswith("node-")
    assert row.split()[7:] == ["<none>", "<none>"]


def test_nodes_as_people_know_them(server: Server) -> None:
    head, *rows = server.kubectl("get", "nodes").lines
    assert head.split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [row.split()[:3] for row in rows[:4]] == [[f"node-{i:03d}", "Ready", "<none>"] for i in range(4)]
    head, *rows = server.kubectl("get", "no", "-o", "wide").lines
    columns = ["NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE"]
    assert head.split()[:8] == columns
    assert head.split()[8:] == ["KERNEL-VERSION", "CONTAINER-RUNTIME"]


def test_forms_of_output(server: Server, running: str) -> None:
    def get(form: str) -> str:
        return server.kubectl("get", "pod", "p", "-n", running, "-o", form).out

    document = json.loads(get("json"))
    assert (document["kind"], document["spec"]["restartPolicy"]) == ("Pod", "Always")
    assert "kind: Pod\n" in get("yaml")
    assert get("name") == "pod/p\n"
    assert get("jsonpath={.metadata.name} {.spec.containers[*].name}") == "p main"
    assert get("custom-columns=N:.metadata.name,A:.metadata.labels.app,X:.spec.nope").split() == [
        *("N", "A", "X"),
        *("p", "web", "<none>"),
    ]
    assert get('go-template={{.metadata.name}}{{"\\n"}}') == "p\n"
    listed = server.kubectl("get", "pods", "-n", running, "-o", "json").json
    assert (listed["kind"], len(listed["items"])) == ("List", 1)
    labels = server.kubectl("get", "pods", "-n", running, "--show-labels", "-L", "app").lines
    assert labels[0].split()[-2:] == ["APP", "LABELS"]
    assert labels[1].split()[-2:] == ["web", "app=web"]


def test_selections_and_orders(server: Server, ns: str) -> None:
    for index, size in enumerate(["9", "10", "8"]):
        server.kubectl("apply", "-n", ns, "-f", "-", input=configmap(f"c{index}", labels={"n": size, "on": "yes"}))
    names = ("-o", "jsonpath={.items[*].metadata.name}", "-n", ns, "-l", "on")
    assert server.kubectl("get", "cm", *names, "--sort-by=.metadata.labels.n").out == "c2 c0 c1"
    assert server.kubectl("get", "cm", *names, "--field-selector=metadata.name!=c1").out == "c0 c2"
    assert server.kubectl("get", "cm", "-n", ns, "-l", "n in (9,8)", "-o", "name").lines == [
        "configmap/c0",
        "configmap/c2",
    ]
    everywhere = server.kubectl("get", "cm", "-A", "-l", "on=yes", "--no-headers").lines
    assert {line.split()[0] for line in everywhere} >= {ns}
    several = server.kubectl("get", "cm/c0", "cm/c1", "-n", ns, "-o", "name").lines
    assert several == ["configmap/c0", "configmap/c1"]
    chunks = server.kubectl("get", "cm", "-n", ns, "-l", "on", "--chunk-size=1", "-o", "name").lines
    assert len(chunks) == 3


def test_nothing_found(server: Server, ns: str) -> None:
    assert server.kubectl("get", "pods", "-n", ns).err == f"No resources found in {ns} namespace.\n"
    unknown = server.kubectl("get", "nopes", "-n", ns, check=False)
    assert unknown.err == 'error: the server doesn\'t have a resource type "nopes"\n'
    assert server.kubectl("get", "pod", "x", "-n", ns, "--ignore-not-found").out == ""


def test_get_all(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=deployment("d", 1))
    server.kubectl("rollout", "status", "-n", ns, "deploy/d", "--timeout=30s")
    kinds = {line.split("/")[0] for line in server.kubectl("get", "all", "-n", ns, "-o", "name").lines}
    assert kinds == {"pod", "deployment.apps", "replicaset.apps"}


def test_watching_rows(server: Server, ns: str) -> None:
    with server.kubectl_running("get", "cm", "-n", ns, "-w", "-l", "on", "--no-headers", "-o", "name") as watcher:
        assert watcher.stdout is not None
        server.kubectl("apply", "-n", ns, "-f", "-", input=configmap("c", labels={"on": "1"}))
        assert watcher.stdout.readline() == "configmap/c\n"
    with server.kubectl_running("get", "pods", "-n", ns, "-w", "--output-watch-events") as watcher:
        assert watcher.stdout is not None
        server.kubectl("run", "p", "-n", ns, "--image=x")
        assert watcher.stdout.readline().split()[:3] == ["EVENT", "NAME", "READY"]
        row = watcher.stdout.readline()
        assert row.split()[:2] == ["ADDED", "p"]
        while "Running" not in row:  # it may run already when kubectl lists for the first time
            row = watcher.stdout.readline()
        assert row.split()[1:4] == ["p", "1/1", "Running"]


def test_describe_a_pod(server: Server, running: str) -> None:
    text = " ".join(server.kubectl("describe", "pod", "p", "-n", running).out.split())
    for part in ("Name: p", "Labels: app=web", "Status: Running", "QoS Class: Burstable"):
        assert part in text
    for condition in ("Initialized", "Ready", "ContainersReady", "PodScheduled"):
        assert condition in text
    events = eventually(
        lambda: (
            server.kubectl("describe", "pod", "p", "-n", running).out.split("Events:")[1]
            if "Started" in server.kubectl("get", "events", "-n", running).out
            else ""
        ),
        "events of the pod",
    )
    for reason in ("Scheduled", "Started"):
        assert reason in events


def test_describe_a_node(server: Server, running: str) -> None:
    node = server.kubectl("get", "pod", "p", "-n", running, "-o", "jsonpath={.spec.nodeName}").out
    text = server.kubectl("describe", "node", node).out
    for part in (
        "Taints:",
        "Unschedulable:",
        "Conditions:",
        "Capacity:",
        "Allocatable:",
        "System Info:",
    ):
        assert part in text
    pods = text.split("Non-terminated Pods:")[1]
    assert any(line.split()[:3] == [running, "p", "1"] for line in pods.splitlines())


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("job", ["Completions:", "Pods Statuses:", "Pod Template:", "SuccessfulCreate"]),
        ("deployment", ["Replicas:", "StrategyType:", "NewReplicaSet:", "ScalingReplicaSet"]),
        ("service", ["Type:", "IP:", "Port:", "TargetPort:", "Selector:"]),
        ("pvc", ["StorageClass:", "Status:", "Access Modes:"]),
        ("configmap", ["Data ====", "color:"]),
        ("quota", ["Resource Used Hard"]),
    ],
)
def test_describe(server: Server, ns: str, kind: str, parts: list[str]) -> None:
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "none",
    }
    bodies = {
        "job": job("x"),
        "deployment": deployment("x", 1),
        "service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "x"},
            "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]},
        },
        "pvc": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": claim},
        "configmap": configmap("x", color="red"),
        "quota": {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "x"},
            "spec": {"hard": {"pods": "5"}},
        },
    }
    server.kubectl("apply", "-n", ns, "-f", "-", input=bodies[kind])

    def described() -> str:
        text = " ".join(server.kubectl("describe", kind, "x", "-n", ns).out.split())
        return text if all(part in text for part in parts) else ""

    assert described() or eventually(described, f"{parts} in the description of a {kind}", within=10)


def test_events_of_an_object(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=[pod("p"), pod("q", nodeSelector=NOWHERE)])
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    eventually(lambda: "Started" in server.kubectl("events", "-n", ns, "--for=pod/p").out, "events of p")
    head, *rows = server.kubectl("events", "-n", ns, "--for=pod/p").lines
    assert head.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert {row.split()[1] for row in rows} == {"Normal"}
    assert all("pod/p" in row.lower() for row in rows)
    head = server.kubectl("get", "events", "-n", ns).lines[0]
    assert head.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    chosen = server.kubectl(
        "get", "events", "-n", ns, "--field-selector=involvedObject.name=p,reason=Scheduled", "-o", "name"
    )
    assert len(chosen.lines) == 1
    modern = server.get(f"/apis/events.k8s.io/v1/namespaces/{ns}/events")
    scheduled = [event for event in modern["items"] if event["reason"] == "Scheduled"]
    assert scheduled[0]["regarding"]["name"] == "p"
    assert "note" in scheduled[0]
    warned = eventually(
        lambda: server.kubectl("events", "-n", ns, "--for=pod/q", "--types=Warning", "--no-headers").out,
        "a warning about q",
    )
    assert "FailedScheduling" in warned
