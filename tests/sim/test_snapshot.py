"""Copies of clusters in virtual time: who runs stays, who waits is placed, and what is asked matters."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.errors import UsageError
from podium.kube.resources import JOBS, NODES, PODS, Resource
from podium.kube.times import format_time
from podium.runtime.configuration import default_profiles
from podium.sim.following import Play
from podium.sim.replay import QueueShape
from podium.sim.snapshot import Snapshot, WhatIf, play, wanted

Document = dict[str, Any]

NOW = 1_790_000_000.0
PODIUM = default_profiles()["podium"]


def nodes(count: int = 2, gpus: int = 8) -> list[Document]:
    found = list(node_documents([Shape(name="real", count=count, gpus=gpus)], NOW))
    for number, node in enumerate(found):
        node["metadata"]["uid"] = f"node-{number}"
    return found


def pod(name: str, node: str = "", since: float = 0.0, gpus: int = 8, **spec: Any) -> Document:
    document: Document = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": format_time(NOW),
        },
        "spec": {
            "schedulerName": "podium",
            "restartPolicy": "Never",
            "containers": [{"name": "m", "image": "i", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}],
            **spec,
        },
        "status": {"phase": "Pending"},
    }
    if node:
        started = format_time(NOW - since)
        document["spec"]["nodeName"] = node
        document["status"] = {
            "phase": "Running",
            "startTime": started,
            "podIP": "10.0.0.9",
            "containerStatuses": [
                {"name": "m", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "started": True,
                 "state": {"running": {"startedAt": started}}}
            ],
        }  # fmt: skip
    return document


def ask(objects: dict[Resource, list[Document]], **what: Any) -> Play:
    before = copy.deepcopy(objects)
    result = play(Snapshot(NOW, objects), WhatIf(PODIUM, **what))
    assert objects == before  # several questions may be asked of one copy
    return result


def ends(result: Play) -> dict[str, tuple[str, float, float]]:
    return {each.name: (each.node, each.started, each.ended) for each in result.pods}


def test_what_runs_stays_and_what_waits_follows() -> None:
    objects = {NODES: nodes(1), PODS: [pod("runs", "real-000", since=100), pod("waits")]}
    found = ends(ask(objects, assume_seconds=600.0))
    assert found["runs"][:2] == ("real-000", 0)
    assert found["runs"][2] == pytest.approx(600, abs=1)
    assert found["waits"][0] == "real-000"
    assert found["waits"][1:] == pytest.approx((600, 1200), abs=2)


def test_more_nodes_are_like_those_there_are() -> None:
    objects = {NODES: nodes(1), PODS: [pod("runs", "real-000"), pod("waits")]}
    result = ask(objects, assume_seconds=600.0, more_nodes=1)
    assert (result.nodes, result.gpus) == (2, 16)
    assert ends(result)["waits"][:2] == ("what-if-000", 0)
    by_file = ask(objects, assume_seconds=600.0, shapes=(Shape(name="extra", gpus=8),))
    assert ends(by_file)["waits"][:2] == ("extra-000", 0)


def test_how_long_pods_run_is_guessed_from_what_they_say() -> None:
    said = pod("said", "real-000", since=100, gpus=1)
    said["metadata"]["annotations"] = {"podium.dev/run-seconds": "160"}
    limited = pod("limited", "real-000", since=100, gpus=1, activeDeadlineSeconds=400)
    overdue = pod("overdue", "real-000", since=100, gpus=1, activeDeadlineSeconds=50)
    owned = pod("owned", "real-000", since=100, gpus=1)
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j", "controller": True}
    ]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "uid": "uid-j", "creationTimestamp": format_time(NOW)},
        "spec": {
            "activeDeadlineSeconds": 250,
            "selector": {"matchLabels": {"j": "j"}},
            "template": {
                "metadata": {"labels": {"j": "j"}},
                "spec": {"containers": [{"name": "m", "image": "i"}]},
            },
        },
    }
    service = pod("service", "real-000", gpus=1, restartPolicy="Always")
    unknown = pod("unknown", "real-000", gpus=1)
    objects = {NODES: nodes(1), PODS: [said, limited, overdue, owned, service, unknown], JOBS: [job]}
    found = ends(ask(objects))
    assert [round(found[name][2]) for name in ("said", "limited", "overdue")] == [60, 300, 0]
    assert found["owned"][2] == pytest.approx(150, abs=1)
    assert found["service"][2] == found["unknown"][2] == -1
    found = ends(ask(objects, assume_seconds=500.0))
    assert (found["service"][2], round(found["unknown"][2])) == (-1, 500)


def test_weights_of_queues() -> None:
    def queue(name: str) -> Document:
        metadata = {"name": name, "uid": f"queue-{name}", "creationTimestamp": format_time(NOW)}
        return {"metadata": metadata, "spec": {"weight": 1}, "status": {"state": "Open"}}

    def group(name: str, queue: str) -> Document:
        metadata = {
            "name": name,
            "namespace": "default",
            "uid": f"group-{name}",
            "creationTimestamp": format_time(NOW),
        }
        return {"metadata": metadata, "spec": {"minMember": 1, "queue": queue}, "status": {"phase": "Inqueue"}}

    pods, groups = [], []
    for number in range(8):
        name, of = f"p{number}", ("red", "blue")[number % 2]
        groups.append(group(name, of))
        pods.append(pod(name, gpus=4, schedulerName="volcano"))
        pods[-1]["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": name}
    objects = {NODES: nodes(1), PODS: pods, PODGROUPS: groups, QUEUES: [queue("red"), queue("blue")]}

    def waits(red: int, blue: int) -> dict[str, float]:
        queues = (QueueShape("red", red), QueueShape("blue", blue))
        volcano = default_profiles()["volcano"]
        result = play(Snapshot(NOW, objects), WhatIf(volcano, queues=queues, assume_seconds=100.0))
        return {each.name: each.wait_seconds.mean or 0.0 for each in result.figures.queues}

    assert waits(3, 1)["red"] < waits(1, 3)["red"]
    assert waits(3, 1)["blue"] > waits(1, 3)["blue"]


def test_a_silent_node_takes_nothing() -> None:
    silent = nodes(2)
    for each in silent[0]["status"]["conditions"]:
        if each["type"] == "Ready":
            each["status"] = "Unknown"
    found = ends(ask({NODES: silent, PODS: [pod("waits")]}, assume_seconds=60.0))
    assert found["waits"][0] == "real-001"


def test_no_nodes() -> None:
    with pytest.raises(UsageError, match="the cluster has no nodes"):
        ask({PODS: [pod("waits")]})
    with pytest.raises(UsageError, match="commonest kind, and it has none"):
        ask({PODS: [pod("waits")]}, more_nodes=2)


def test_secrets_are_not_asked_for() -> None:
    names = {resource.plural for resource in wanted()}
    assert {"nodes", "pods", "queues", "podgroups", "jobs"} <= names
    assert names.isdisjoint({"secrets", "configmaps", "serviceaccounts", "events"})
