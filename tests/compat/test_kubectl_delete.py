"""Deleting: grace, force, finalizers, cascades, collections."""

from __future__ import annotations

import pytest

from tests.compat.client import Document, Server, eventually
from tests.compat.objects import configmap, deployment, pod, unplaced_pod


def pods(ns: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{ns}/pods" + (f"/{name}" if name else "")


def start(server: Server, ns: str, name: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod(name))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", f"pod/{name}", "--timeout=30s")


def test_a_running_pod_goes_gracefully(server: Server, ns: str) -> None:
    start(server, ns, "p")
    with server.watch(pods(ns), fieldSelector="metadata.name=p") as watch:
        watch.next()
        out = server.kubectl("delete", "pod", "p", "-n", ns, "--timeout=30s").out
        events = watch.until(lambda event: event["type"] == "DELETED")
    assert out.startswith('pod "p" deleted')
    first = events[0]["object"]["metadata"]
    assert first["deletionGracePeriodSeconds"] == 30
    assert first["deletionTimestamp"] > first["creationTimestamp"]


def test_the_grace_can_be_shortened_but_not_lengthened(server: Server, ns: str) -> None:
    body = unplaced_pod("p", nodeName="far-away")
    server.create(pods(ns), body)

    def delete(grace: int | None) -> Document:
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        return server.http("DELETE", pods(ns, "p"), options).expect(200)

    first = delete(None)["metadata"]
    assert first["deletionGracePeriodSeconds"] == 30
    assert delete(60)["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = delete(5)["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert shorter["deletionTimestamp"] < first["deletionTimestamp"]
    delete(0)
    assert server.http("GET", pods(ns, "p")).status == 404


def test_a_pod_that_was_never_placed_goes_at_once(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    server.http("DELETE", pods(ns, "p")).expect(200)
    assert server.http("GET", pods(ns, "p")).status == 404


def test_force(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p", nodeName="far-away"))
    forced = server.kubectl("delete", "pod", "p", "-n", ns, "--force")
    assert "Immediate deletion does not wait for confirmation" in forced.err
    assert server.http("GET", pods(ns, "p")).status == 404


def test_now(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p", nodeName="far-away"))
    server.kubectl("delete", "pod", "p", "-n", ns, "--now", "--wait=false")
    assert server.get(pods(ns, "p"))["metadata"]["deletionGracePeriodSeconds"] == 1
    server.http("DELETE", pods(ns, "p"), {"gracePeriodSeconds": 0}).expect(200)


def test_a_finalizer_holds_an_object(server: Server, ns: str) -> None:
    body = configmap("c")
    body["metadata"]["finalizers"] = ["stories.example/hold"]
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    server.kubectl("delete", "cm", "c", "-n", ns, "--wait=false")
    held = server.get(f"/api/v1/namespaces/{ns}/configmaps/c")
    stamp = held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    server.http("DELETE", f"/api/v1/namespaces/{ns}/configmaps/c").expect(200)
    assert server.get(f"/api/v1/namespaces/{ns}/configmaps/c")["metadata"]["deletionTimestamp"] == stamp
    more = {"metadata": {"finalizers": ["stories.example/hold", "stories.example/more"]}}
    path = f"/api/v1/namespaces/{ns}/configmaps/c"
    refused = server.http("PATCH", path, more, content_type="application/merge-patch+json")
    assert (refused.status, refused.reason) == (422, "Invalid")
    assert "no new finalizers can be added" in refused.json["message"]
    server.kubectl(
        "patch", "cm", "c", "-n", ns, "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]'
    )
    assert server.http("GET", path).status == 404


def test_deletion_cannot_be_taken_back(server: Server, ns: str) -> None:
    body = configmap("c")
    body["metadata"]["finalizers"] = ["stories.example/hold"]
    path = f"/api/v1/namespaces/{ns}/configmaps"
    server.create(path, body)
    server.http("DELETE", f"{path}/c").expect(200)
    kept = server.merge(f"{path}/c", {"metadata": {"deletionTimestamp": None, "labels": {"a": "b"}}})
    assert "deletionTimestamp" in kept["metadata"]
    server.merge(f"{path}/c", {"metadata": {"finalizers": []}})


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_cascades(server: Server, ns: str, cascade: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=deployment("d", 2))
    server.kubectl("rollout", "status", "-n", ns, "deploy/d", "--timeout=30s")
    server.kubectl("delete", "deploy", "d", "-n", ns, f"--cascade={cascade}", "--timeout=30s")
    assert server.http("GET", f"/apis/apps/v1/namespaces/{ns}/deployments/d").status == 404

    def left() -> list[Document]:
        sets = server.get(f"/apis/apps/v1/namespaces/{ns}/replicasets")["items"]
        return [*sets, *server.get(pods(ns))["items"]]

    if cascade == "orphan":
        assert len(left()) == 3
        orphan = server.get(f"/apis/apps/v1/namespaces/{ns}/replicasets")["items"][0]
        assert not orphan["metadata"].get("ownerReferences")
    elif cascade == "foreground":
        assert server.get(f"/apis/apps/v1/namespaces/{ns}/replicasets")["items"] == []
    eventually(lambda: cascade == "orphan" or not left(), "everything is gone")


def test_a_foreground_deletion_waits_for_dependents(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/configmaps"
    owner = server.create(path, configmap("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    held = configmap("held")
    held["metadata"].update(ownerReferences=[reference], finalizers=["stories.example/hold"])
    server.create(path, held)
    answer = server.http("DELETE", f"{path}/owner", {"propagationPolicy": "Foreground"}).expect(200)
    assert answer["metadata"]["finalizers"] == ["foregroundDeletion"]
    eventually(lambda: "deletionTimestamp" in server.get(f"{path}/held")["metadata"], "the dependent is going")
    assert server.http("GET", f"{path}/owner").status == 200
    server.merge(f"{path}/held", {"metadata": {"finalizers": None}})
    eventually(lambda: server.http("GET", f"{path}/owner").status == 404, "the owner is gone")


def test_an_object_whose_owner_is_gone_is_collected(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/configmaps"
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "absent",
        "uid": "11111111-1111-1111-1111-111111111111",
    }
    body = configmap("c")
    body["metadata"]["ownerReferences"] = [reference]
    server.create(path, body)
    eventually(lambda: server.http("GET", f"{path}/c").status == 404, "it is collected")


def test_an_object_with_two_owners_stays_until_both_are_gone(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/configmaps"
    owners = [server.create(path, configmap(name)) for name in ("one", "two")]
    body = configmap("c")
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        for o in owners
    ]
    server.create(path, body)
    server.http("DELETE", f"{path}/one").expect(200)

    def owned_by() -> list[str]:
        references = server.get(f"{path}/c")["metadata"].get("ownerReferences", [])
        return [reference["name"] for reference in references]

    eventually(lambda: owned_by() == ["two"], "the reference to the lost owner is dropped")
    server.http("DELETE", f"{path}/two").expect(200)
    eventually(lambda: server.http("GET", f"{path}/c").status == 404, "it is collected")


def test_a_collection_by_label(server: Server, ns: str) -> None:
    for index in range(4):
        labels = {"parity": "odd" if index % 2 else "even"}
        server.create(f"/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": f"s{index}", "labels": labels}})
    path = f"/api/v1/namespaces/{ns}/secrets"
    answer = server.http("DELETE", path, query={"labelSelector": "parity=odd"}).expect(200)
    assert answer["kind"] == "SecretList"
    assert [item["metadata"]["name"] for item in answer["items"]] == ["s1", "s3"]
    assert [item["metadata"]["name"] for item in server.get(path)["items"]] == ["s0", "s2"]
    out = server.kubectl("delete", "secrets", "-l", "parity=even", "-n", ns).lines
    assert len(out) == 2
    assert server.get(path)["items"] == []


def test_what_delete_says(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=[configmap("a"), configmap("b")])
    assert server.kubectl("delete", "cm/a", "cm/b", "-n", ns, "-o", "name").lines == ["configmap/a", "configmap/b"]
    absent = server.kubectl("delete", "cm", "a", "-n", ns, check=False)
    assert (absent.code, absent.err) == (1, 'Error from server (NotFound): configmaps "a" not found\n')
    assert server.kubectl("delete", "cm", "a", "-n", ns, "--ignore-not-found").code == 0
    assert server.kubectl("delete", "cm", "-l", "nobody=has-this", "-n", ns).out == "No resources found\n"
