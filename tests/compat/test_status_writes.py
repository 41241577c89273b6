"""What a write to /status may change beside the status: labels, annotations, finalizers and owners, by kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compat.client import Server, eventually
from tests.compat.objects import NOWHERE, crd, crd_version, template

Document = dict[str, Any]

SELECTOR = {"matchLabels": {"app": "x"}}
ENDING = template("x", restartPolicy="Never", nodeSelector=NOWHERE)
EVERYTHING = {"labels", "annotations", "finalizers", "ownerReferences"}

# The collection, the object, and what a write to its status may set.  Nothing here has work for a controller.
KINDS: dict[str, tuple[str, Document, set[str]]] = {
    "Pod": (
        "/api/v1/namespaces/{ns}/pods",
        {"spec": template("x", schedulerName="nobody")["spec"]},
        EVERYTHING - {"ownerReferences"},
    ),
    "Node": ("/api/v1/nodes", {"spec": {"unschedulable": True}}, EVERYTHING),
    "Namespace": ("/api/v1/namespaces", {}, EVERYTHING),
    "PersistentVolumeClaim": (
        "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "none",
            }
        },
        EVERYTHING,
    ),
    "PersistentVolume": (
        "/api/v1/persistentvolumes",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/x"},
                "storageClassName": "none",
            }
        },
        EVERYTHING,
    ),
    "ReplicationController": (
        "/api/v1/namespaces/{ns}/replicationcontrollers",
        {"spec": {"replicas": 0, "selector": {"app": "x"}, "template": template("x")}},
        EVERYTHING,
    ),
    "ResourceQuota": (
        "/api/v1/namespaces/{ns}/resourcequotas",
        {"spec": {"hard": {"pods": "1000"}}},
        EVERYTHING,
    ),
    "Service": ("/api/v1/namespaces/{ns}/services", {"spec": {"ports": [{"port": 80}]}}, EVERYTHING),
    "DaemonSet": (
        "/apis/apps/v1/namespaces/{ns}/daemonsets",
        {"spec": {"selector": SELECTOR, "template": template("x", nodeSelector=NOWHERE)}},
        EVERYTHING,
    ),
    "Deployment": (
        "/apis/apps/v1/namespaces/{ns}/deployments",
        {"spec": {"replicas": 0, "paused": True, "selector": SELECTOR, "template": template("x")}},
        EVERYTHING - {"labels"},
    ),
    "ReplicaSet": (
        "/apis/apps/v1/namespaces/{ns}/replicasets",
        {"spec": {"replicas": 0, "selector": SELECTOR, "template": template("x")}},
        EVERYTHING,
    ),
    "StatefulSet": (
        "/apis/apps/v1/namespaces/{ns}/statefulsets",
        {"spec": {"replicas": 0, "serviceName": "x", "selector": SELECTOR, "template": template("x")}},
        EVERYTHING,
    ),
    "CronJob": (
        "/apis/batch/v1/namespaces/{ns}/cronjobs",
        {"spec": {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": ENDING}}}},
        EVERYTHING,
    ),
    "Job": (
        "/apis/batch/v1/namespaces/{ns}/jobs",
        {"spec": {"suspend": True, "template": ENDING}},
        EVERYTHING,
    ),
    "PodDisruptionBudget": (
        "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        {"spec": {"minAvailable": 1, "selector": SELECTOR}},
        EVERYTHING,
    ),
}


def metadata_with(server: Server, mark: str) -> Document:
    """Metadata that can be told from others by its mark.  Owners are there, or the collector would act on it."""
    owner = {"put": "default", "patch": "kube-system"}[mark]
    uid = server.get(f"/api/v1/namespaces/{owner}")["metadata"]["uid"]
    return {
        "labels": {f"example.com/{mark}": "1"},
        "annotations": {f"example.com/{mark}": "1"},
        "finalizers": [f"example.com/{mark}"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": owner, "uid": uid}],
    }


def taken(made: Document, marked: Document) -> set[str]:
    """Which of an object's metadata says what the marked one wanted of it."""
    metadata = made["metadata"]

    def says(field: str, wanted: Any) -> bool:
        found = metadata.get(field) or []
        return all(each in (found.items() if isinstance(found, dict) else found) for each in wanted)

    return {
        field
        for field, wanted in marked.items()
        if says(field, wanted.items() if isinstance(wanted, dict) else wanted)
    }


def write(server: Server, method: str, path: str) -> set[str]:
    """Changes metadata through the status and says which was taken.  Tried again where a controller was faster."""
    marked = metadata_with(server, method.lower())

    def attempt() -> Document | None:
        if method == "PATCH":
            patch = {"metadata": marked}
            answer = server.http("PATCH", path + "/status", patch, content_type="application/merge-patch+json")
        else:
            document = server.get(path)
            document["metadata"] |= marked
            answer = server.http("PUT", path + "/status", document)
        if answer.status == 409:
            return None
        return answer.expect(200)

    return taken(eventually(attempt, "the status is written"), marked)


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_goes_with_a_status(server: Server, ns: str, kind: str) -> None:
    collection, body, settable = KINDS[kind]
    collection = collection.format(ns=ns)
    name = f"{ns}-{kind.lower()}"
    path = f"{collection}/{name}"
    server.create(collection, {**body, "metadata": {"name": name}})
    try:
        for method in ("PUT", "PATCH"):
            assert write(server, method, path) == settable
        if kind == "Namespace":
            assert server.get(path)["metadata"]["labels"]["kubernetes.io/metadata.name"] == name
        bad = {"metadata": {"annotations": {"a b": "x"}}}
        answer = server.http("PATCH", path + "/status", bad, content_type="application/merge-patch+json")
        assert (answer.status, answer.reason) == (422, "Invalid")
    finally:
        server.http("DELETE", path, {"gracePeriodSeconds": 0})
        freed = {"metadata": {"finalizers": None, "ownerReferences": None}}
        server.http("PATCH", path, freed, content_type="application/merge-patch+json")


def test_the_status_of_a_custom_resource_comes_alone(server: Server, ns: str) -> None:
    definition = crd("statusful", "Statusful", {}, group=f"{ns}.example.com")
    definition["spec"]["versions"] = [crd_version("v1", {}, subresources={"status": {}})]
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    where = f"{definitions}/{definition['metadata']['name']}"
    server.create(definitions, definition)
    try:
        collection = f"/apis/{ns}.example.com/v1/namespaces/{ns}/statusful"
        eventually(lambda: server.http("GET", collection).status == 200, "the kind is served")
        server.create(
            collection, {"apiVersion": f"{ns}.example.com/v1", "kind": "Statusful", "metadata": {"name": "a"}}
        )
        for method in ("PUT", "PATCH"):
            assert write(server, method, f"{collection}/a") == set()
            assert write(server, method, where) == EVERYTHING  # the definition is a kind as any other
    finally:
        freed = {"metadata": {"finalizers": None}}
        server.http("PATCH", where, freed, content_type="application/merge-patch+json")
        server.http("DELETE", where)


def test_an_address_of_a_pod_stands_in_both_its_places(server: Server, ns: str) -> None:
    collection = f"/api/v1/namespaces/{ns}/pods"
    for name, given in (("single", {"podIP": "10.9.8.7"}), ("listed", {"podIPs": [{"ip": "10.9.8.7"}]})):
        server.create(
            collection, {"metadata": {"name": name}, "spec": template("x", schedulerName="nobody")["spec"]}
        )
        state = server.merge(f"{collection}/{name}/status", {"status": given})["status"]
        assert (state["podIP"], state["podIPs"]) == ("10.9.8.7", [{"ip": "10.9.8.7"}])
    state = server.merge(f"{collection}/single/status", {"status": {"podIP": "10.9.8.6"}})["status"]
    assert (state["podIP"], state["podIPs"]) == ("10.9.8.6", [{"ip": "10.9.8.6"}])
    found = server.get(collection, fieldSelector="status.podIP=10.9.8.6")["items"]
    assert [each["metadata"]["name"] for each in found] == ["single"]
