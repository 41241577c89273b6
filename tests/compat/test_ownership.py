"""Who owns what, and what goes with whom: adoption, circles of owners, the content of a namespace."""

from __future__ import annotations

from tests.compat.client import Document, Server, eventually
from tests.compat.objects import configmap, job, pod, unplaced_pod

FOREGROUND = {"propagationPolicy": "Foreground"}


def _owned_by(owner: Document, kind: str = "Pod", version: str = "v1") -> Document:
    metadata = owner["metadata"]
    reference = {"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {"metadata": {"ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}]}}


def _controller(server: Server, path: str) -> str | None:
    """The UID of an object's controller."""
    references = server.get(path)["metadata"].get("ownerReferences", ())
    return next((each["uid"] for each in references if each.get("controller")), None)


# --- circles ---------------------------------------------------------------------------------------------------


def test_a_circle_of_owners_is_deleted_in_the_foreground(server: Server, ns: str) -> None:
    pods = f"/api/v1/namespaces/{ns}/pods"
    made = [server.create(pods, unplaced_pod(f"p{index}")) for index in range(3)]
    for index, each in enumerate(made):
        server.merge(f"{pods}/{each['metadata']['name']}", _owned_by(made[index - 1]))
    server.http("DELETE", f"{pods}/p0", FOREGROUND).expect(200)
    eventually(lambda: not server.get(pods)["items"], "all three pods are gone")


def test_a_circle_does_not_lose_what_hangs_on_it(server: Server, ns: str) -> None:
    """Two configmaps own each other; a third, owned by one of them, goes with them, a fourth stays."""
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    one, two = (server.create(maps, configmap(name)) for name in ("one", "two"))
    server.merge(f"{maps}/one", _owned_by(two, "ConfigMap"))
    server.merge(f"{maps}/two", _owned_by(one, "ConfigMap"))
    for name in ("leaf", "stranger"):
        server.create(maps, configmap(name))
    server.merge(f"{maps}/leaf", _owned_by(two, "ConfigMap"))
    server.http("DELETE", f"{maps}/one", FOREGROUND).expect(200)

    def names() -> set[str]:
        return {each["metadata"]["name"] for each in server.get(maps)["items"]} - {"kube-root-ca.crt"}

    eventually(lambda: names() == {"stranger"}, "the circle and its leaf are gone, and nothing else")


# --- Jobs and pods -----------------------------------------------------------------------------------------------


def test_a_job_adopts_its_orphan_and_releases_what_no_longer_matches(server: Server, ns: str) -> None:
    pods = f"/api/v1/namespaces/{ns}/pods"
    made = server.create(f"/apis/batch/v1/namespaces/{ns}/jobs", job("long", 2, run_seconds="600"))
    uid = made["metadata"]["uid"]

    def running() -> list[Document] | None:
        found = [each for each in server.get(pods)["items"] if each["status"].get("phase") == "Running"]
        return found if len(found) == 2 else None

    name = eventually(running, "two pods run")[0]["metadata"]["name"]
    server.merge(f"{pods}/{name}", {"metadata": {"ownerReferences": None}})
    eventually(lambda: _controller(server, f"{pods}/{name}") == uid, "the Job adopts its pod again")

    def tracked() -> bool:
        return "batch.kubernetes.io/job-tracking" in server.get(f"{pods}/{name}")["metadata"].get("finalizers", ())

    eventually(tracked, "and counts it again")
    assert len(server.get(pods)["items"]) == 2, "nothing was made in its place"

    server.merge(f"{pods}/{name}", {"metadata": {"labels": None}})
    eventually(lambda: _controller(server, f"{pods}/{name}") is None, "a pod without the labels is released")
    assert not tracked(), "nobody counts it any more"
    eventually(lambda: len(server.get(pods)["items"]) == 3, "another pod in its place")


def test_a_job_with_its_own_selector_adopts_pods_that_come_later(server: Server, ns: str) -> None:
    pods = f"/api/v1/namespaces/{ns}/pods"
    own = job("mine", suspend=True, manualSelector=True, selector={"matchLabels": {"app": "mine"}})
    made = server.create(f"/apis/batch/v1/namespaces/{ns}/jobs", own)
    server.create(pods, unplaced_pod("late", labels={"app": "mine"}, restartPolicy="Never"))

    def adopted() -> bool:
        """A suspended Job deletes what it has adopted, so the pod may be gone already."""
        answer = server.http("GET", f"{pods}/late")
        owners = answer.json["metadata"].get("ownerReferences", ())
        return answer.status == 404 or made["metadata"]["uid"] in {each["uid"] for each in owners}

    eventually(adopted, "the pod has been adopted")


# --- namespaces --------------------------------------------------------------------------------------------------


def test_a_namespace_deletes_its_pods_first(server: Server, ns: str) -> None:
    name = f"{ns}-ordered"
    server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    base = f"/api/v1/namespaces/{name}"
    eventually(lambda: server.http("GET", f"{base}/serviceaccounts/default").status == 200, "its service account")
    held = pod("held")
    held["metadata"]["finalizers"] = ["stories.example/hold"]
    server.create(f"{base}/pods", held)
    server.create(f"{base}/configmaps", configmap("settings"))
    server.http("DELETE", base).expect(200, 202)

    def began() -> bool:
        conditions = server.get(base)["status"].get("conditions", ())
        return any(each["type"] == "NamespaceDeletionContentFailure" for each in conditions)

    eventually(began, "the content of the namespace is being deleted")
    assert "deletionTimestamp" in server.get(f"{base}/pods/held")["metadata"]
    assert "deletionTimestamp" not in server.get(f"{base}/configmaps/settings")["metadata"]
    server.merge(f"{base}/pods/held", {"metadata": {"finalizers": None}})
    eventually(lambda: server.http("GET", base).status == 404, "the namespace is gone", within=60.0)
