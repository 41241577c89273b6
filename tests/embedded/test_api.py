"""The API's rules, one by one, without a socket.  What a real server does is checked by tests/compat."""

from __future__ import annotations

import pytest

from podium.kube import fields
from podium.kube.admission import Hook, Surroundings
from podium.kube.resources import (
    CONFIGMAPS,
    CUSTOMRESOURCEDEFINITIONS,
    DEPLOYMENTS,
    EVENTS_V1,
    NAMESPACES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    Resource,
)
from podium.kube.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.embedded.server import Document, Server, config_map, pod

MAPS = CONFIGMAPS.path("default")


@pytest.fixture
def server() -> Server:
    return Server()


def binding(node: str, **metadata: object) -> Document:
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node}}


# --- create ------------------------------------------------------------------------------------------------


def test_a_created_object_has_its_birth_certificate(server: Server) -> None:
    made = server.create(PODS, pod())
    metadata = made["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["uid"]
    assert metadata["resourceVersion"] == str(server.store.version)
    assert metadata["creationTimestamp"] == "2027-01-15T08:00:00Z"
    assert metadata["generation"] == 1
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["spec"]["schedulerName"] == "default-scheduler"
    assert made["spec"]["priority"] == 0


def test_generated_names(server: Server) -> None:
    body = config_map("")
    body["metadata"] = {"generateName": "job-"}
    first, second = (server.create(CONFIGMAPS, body)["metadata"]["name"] for _ in range(2))
    assert first != second
    assert first.startswith("job-")
    assert second.startswith("job-")


def test_what_a_client_may_not_set_is_dropped(server: Server) -> None:
    body = config_map(
        "a", uid="mine", creationTimestamp="2001-01-01T00:00:00Z", deletionTimestamp="2001-01-01T00:00:00Z"
    )
    made = server.create(CONFIGMAPS, body)["metadata"]
    assert made["uid"] != "mine"
    assert made["creationTimestamp"].startswith("2027")
    assert "deletionTimestamp" not in made


def test_dry_run_creates_nothing(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"), dryRun="All")
    assert made["metadata"]["uid"]
    assert server.no("GET", f"{MAPS}/a")["reason"] == "NotFound"


def test_twice_is_a_conflict(server: Server) -> None:
    server.create(CONFIGMAPS, config_map("a"))
    refused = server.no("POST", MAPS, config_map("a"))
    assert (refused["code"], refused["reason"]) == (409, "AlreadyExists")
    assert refused["message"] == 'configmaps "a" already exists'


def test_unknown_fields(server: Server) -> None:
    body = pod("a", nodeSelektor={"x": "y"})
    strict = server.no("POST", PODS.path("default"), body, fieldValidation="Strict")
    assert strict["code"] == 400
    assert 'unknown field "spec.nodeSelektor"' in strict["message"]
    warned = server.call("POST", PODS.path("default"), body, fieldValidation="Warn")
    assert warned.status == 201
    assert warned.header("Warning") == '299 - "unknown field \\"spec.nodeSelektor\\""'
    assert b"nodeSelektor" not in warned.body


def test_a_pod_takes_its_priority_from_its_class(server: Server) -> None:
    server.create(
        PRIORITYCLASSES,
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 77},
        "",
    )
    assert server.create(PODS, pod("a", priorityClassName="high"))["spec"]["priority"] == 77
    refused = server.no("POST", PODS.path("default"), pod("b", priorityClassName="none"))
    assert refused["code"] == 403
    assert "no PriorityClass with name none was found" in refused["message"]


def test_hooks_of_an_api_family_take_part() -> None:
    def fill(document: Document, old: Document | None, around: Surroundings) -> None:
        document["data"]["filled"] = "yes"

    def check(document: Document, old: Document | None, around: Surroundings) -> list[fields.FieldError]:
        return [fields.forbidden("data.bad", "bad is not good")] if "bad" in document["data"] else []

    def keep(document: Document, around: Surroundings) -> str | None:
        assert around.get(CONFIGMAPS, "default", document["metadata"]["name"]) == document
        others = sum(1 for _ in around.all(CONFIGMAPS)) - 1
        return None if others else "it is the last one"

    server = Server((Hook(CONFIGMAPS, fill, check, keep),))
    assert server.create(CONFIGMAPS, config_map("a"))["data"]["filled"] == "yes"
    refused = server.no("POST", MAPS, {**config_map("b"), "data": {"bad": "1"}})
    assert refused["message"] == 'ConfigMap "b" is invalid: data.bad: Forbidden: bad is not good'
    refused = server.no("DELETE", f"{MAPS}/a")
    assert (refused["code"], refused["message"]) == (403, 'configmaps "a" is forbidden: it is the last one')
    server.create(CONFIGMAPS, config_map("c"))
    server.ok("DELETE", f"{MAPS}/a")
    assert server.no("DELETE", MAPS)["code"] == 403


# --- update and patch --------------------------------------------------------------------------------------


def test_a_stale_version_is_refused(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"))
    server.ok("PUT", f"{MAPS}/a", {**made, "data": {"k": "2"}})
    refused = server.no("PUT", f"{MAPS}/a", {**made, "data": {"k": "3"}})
    assert (refused["code"], refused["reason"]) == (409, "Conflict")
    assert server.ok("GET", f"{MAPS}/a")["data"] == {"k": "2"}


def test_an_update_that_changes_nothing_makes_no_version(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"))
    before = server.store.version
    assert server.ok("PUT", f"{MAPS}/a", made) == made
    assert server.ok("PATCH", f"{MAPS}/a", {"data": {"k": "v"}}, media=MERGE_PATCH) == made
    assert server.store.version == before


def test_generation_counts_changes_of_the_spec_only(server: Server) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    path = DEPLOYMENTS.path("default", "d")
    server.create(DEPLOYMENTS, body)

    def patched(patch: Document, sub: str = "") -> int:
        done = server.ok("PATCH", path + sub, patch, media=MERGE_PATCH)
        generation: int = done["metadata"]["generation"]
        return generation

    assert patched({"metadata": {"labels": {"x": "y"}}}) == 1
    assert patched({"spec": {"replicas": 2}}) == 2
    assert patched({"status": {"replicas": 2}}, "/status") == 2
    assert server.ok("GET", path)["status"]["replicas"] == 2
    assert patched({"status": {"replicas": 7}, "spec": {"replicas": 3}}) == 3
    assert server.ok("GET", path)["status"]["replicas"] == 2
    assert patched({"status": {"replicas": 3}, "spec": {"replicas": 9}}, "/status") == 3
    assert server.ok("GET", path)["spec"]["replicas"] == 3


def test_the_three_patches(server: Server) -> None:
    server.create(PODS, pod("a"))
    path = PODS.path("default", "a")
    server.ok("PATCH", path, {"metadata": {"labels": {"x": "1"}}}, media=MERGE_PATCH)
    server.ok("PATCH", path, [{"op": "add", "path": "/metadata/labels/y", "value": "2"}], media=JSON_PATCH)
    containers = {"spec": {"containers": [{"name": "main", "image": "busybox:1.37"}]}}
    done = server.ok("PATCH", path, containers, media=STRATEGIC_PATCH)
    assert done["metadata"]["labels"] == {"x": "1", "y": "2"}
    assert [c["image"] for c in done["spec"]["containers"]] == ["busybox:1.37"]
    assert done["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert server.no("PATCH", path, {}, media="application/weird")["code"] == 415


# --- delete ------------------------------------------------------------------------------------------------


def test_a_pod_that_never_started_goes_at_once(server: Server) -> None:
    server.create(PODS, pod("a"))
    server.ok("DELETE", PODS.path("default", "a"))
    assert server.call("GET", PODS.path("default", "a")).status == 404


def test_a_placed_pod_gets_its_grace(server: Server) -> None:
    server.create(PODS, pod("a"))
    path = PODS.path("default", "a")
    server.ok("POST", path + "/binding", binding("n1"))
    marked = server.ok("DELETE", path)["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 30
    assert marked["deletionTimestamp"] == "2027-01-15T08:00:30Z"
    shorter = server.ok("DELETE", path, {"gracePeriodSeconds": 5})["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert server.ok("DELETE", path, {"gracePeriodSeconds": 20})["metadata"]["deletionGracePeriodSeconds"] == 5
    server.ok("DELETE", path, {"gracePeriodSeconds": 0})
    assert server.call("GET", path).status == 404


def test_a_finalizer_holds_an_object_until_it_is_removed(server: Server) -> None:
    server.create(CONFIGMAPS, config_map("a", finalizers=["example.com/hold"]))
    server.ok("DELETE", f"{MAPS}/a")
    held = server.ok("GET", f"{MAPS}/a")
    assert held["metadata"]["deletionTimestamp"]
    server.ok("PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, media=MERGE_PATCH)
    assert server.call("GET", f"{MAPS}/a").status == 404


def test_preconditions_of_a_delete(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"))
    other = {"preconditions": {"uid": "another"}}
    assert server.no("DELETE", f"{MAPS}/a", other)["code"] == 409
    server.ok("DELETE", f"{MAPS}/a", {"preconditions": {"uid": made["metadata"]["uid"]}})


def test_a_namespace_stays_until_its_content_is_gone(server: Server) -> None:
    server.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}, "")
    gone = server.ok("DELETE", NAMESPACES.path(name="x"))
    assert gone["status"]["phase"] == "Terminating"
    refused = server.no("POST", CONFIGMAPS.path("x"), config_map("a"))
    assert refused["code"] == 403
    assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    gone["spec"]["finalizers"] = []
    server.ok("PUT", NAMESPACES.path(name="x", subresource="finalize"), gone)
    assert server.call("GET", NAMESPACES.path(name="x")).status == 404


# --- binding and eviction ----------------------------------------------------------------------------------


def test_a_pod_is_bound_once(server: Server) -> None:
    uid = server.create(PODS, pod("a"))["metadata"]["uid"]
    path = PODS.path("default", "a")
    assert server.no("POST", path + "/binding", binding("n1", uid="another"))["code"] == 409
    server.ok("POST", path + "/binding", binding("n1", uid=uid, annotations={"podium.dev/gang-plan": "g/1/2"}))
    bound = server.ok("GET", path)
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"podium.dev/gang-plan": "g/1/2"}
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    refused = server.no("POST", path + "/binding", binding("n2"))
    assert refused["code"] == 409
    assert "already assigned to node" in refused["message"]


def test_gated_and_deleted_pods_are_not_bound(server: Server) -> None:
    server.create(PODS, pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    assert server.no("POST", PODS.path("default", "gated", "binding"), binding("n1"))["code"] == 409
    server.create(PODS, {**pod("held"), "metadata": {"name": "held", "finalizers": ["example.com/x"]}})
    server.ok("DELETE", PODS.path("default", "held"))
    assert server.no("POST", PODS.path("default", "held", "binding"), binding("n1"))["code"] == 409


def test_an_eviction_spends_the_budget(server: Server) -> None:
    for name in ("a", "b"):
        made = pod(name)
        made["metadata"]["labels"] = {"app": "x"}
        server.create(PODS, made)
        server.ok("POST", PODS.path("default", name, "binding"), binding("n1"))
        ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        server.ok("PATCH", PODS.path("default", name, "status"), ready, media=MERGE_PATCH)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    server.create(PODDISRUPTIONBUDGETS, budget)
    state = {
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
        "observedGeneration": 1,
    }
    path = PODDISRUPTIONBUDGETS.path("default", "b", "status")
    server.ok("PATCH", path, {"status": state}, media=MERGE_PATCH)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": "default"}}
    server.ok("POST", PODS.path("default", "a", "eviction"), eviction)
    eviction["metadata"] = {"name": "b", "namespace": "default"}
    refused = server.no("POST", PODS.path("default", "b", "eviction"), eviction)
    assert (refused["code"], refused["reason"]) == (429, "TooManyRequests")
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"


# --- reading -----------------------------------------------------------------------------------------------


def test_pages_are_consistent_with_each_other(server: Server) -> None:
    for index in range(7):
        server.create(CONFIGMAPS, config_map(f"c{index}"))
    first = server.ok("GET", MAPS, limit="3")
    assert first["metadata"]["remainingItemCount"] == 4
    server.ok("DELETE", f"{MAPS}/c5")
    server.create(CONFIGMAPS, config_map("c55"))
    names = [item["metadata"]["name"] for item in first["items"]]
    token = first["metadata"]["continue"]
    while token:
        page = server.ok("GET", MAPS, **{"limit": "3", "continue": token})
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
    assert names == [f"c{index}" for index in range(7)]


def test_selectors(server: Server) -> None:
    for name, tier in (("a", "x"), ("b", "y")):
        made = pod(name)
        made["metadata"]["labels"] = {"tier": tier}
        server.create(PODS, made)
    server.ok("POST", PODS.path("default", "b", "binding"), binding("n1"))

    def names(**query: str) -> list[str]:
        return [item["metadata"]["name"] for item in server.ok("GET", PODS.path(), **query)["items"]]

    assert names(labelSelector="tier=x") == ["a"]
    assert names(labelSelector="tier in (x,y)") == ["a", "b"]
    assert names(fieldSelector="spec.nodeName=n1") == ["b"]
    assert names(fieldSelector="spec.nodeName=") == ["a"]
    assert names(fieldSelector="spec.nodeName!=n1,metadata.name!=zzz") == ["a"]
    assert server.no("GET", PODS.path(), fieldSelector="spec.bogus=1")["code"] == 400
    assert server.no("GET", PODS.path(), labelSelector="a in")["code"] == 400


METADATA_PATCHES: list[Document] = [
    {"labels": {"a": "b"}, "annotations": {"c": "d"}},
    {"labels": {"old": None}},
    {"labels": None},
    {"labels": {"bad label": "x"}},
    {"labels": {"a": 5}},
    {"unknown": "field"},
    {"name": "other"},
    {"uid": "another"},
    {"resourceVersion": "1"},
    {"finalizers": ["example.com/hold"]},
    {"generation": 7},
    {},
]


@pytest.mark.parametrize("metadata", METADATA_PATCHES, ids=str)
@pytest.mark.parametrize("media", [MERGE_PATCH, STRATEGIC_PATCH])
@pytest.mark.parametrize("resource", [PODS, DEPLOYMENTS, NAMESPACES, EVENTS_V1], ids=lambda each: each.kind)
def test_a_patch_of_metadata_alone_is_like_any_other(resource: Resource, media: str, metadata: Document) -> None:
    """It is carried out without decoding the rest; saying the kind as well makes it the common way."""
    results = []
    for said in ({}, {"kind": resource.kind}):
        server = Server()
        namespace = "default" if resource.namespaced else ""
        server.create(resource, whole(resource), namespace)
        path = resource.path(namespace, "p")
        answer = server.call("PATCH", path, {**said, "metadata": metadata}, media=media, fieldValidation="Strict")
        results.append((answer.status, answer.body, server.call("GET", path).body, server.store.version))
    assert results[0] == results[1]


def whole(resource: Resource) -> Document:
    """An object of the kind, with more than metadata."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    rest: dict[Resource, Document] = {
        PODS: {"spec": pod()["spec"]},
        DEPLOYMENTS: {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}},
        EVENTS_V1: {
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
            "reason": "Because",
            "note": "of this",
            "type": "Normal",
            "action": "Test",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.com/test",
            "reportingInstance": "test-1",
        },
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "p", "labels": {"old": "label"}},
        **rest.get(resource, {}),
    }


# --- watching ----------------------------------------------------------------------------------------------


def test_a_watch_tells_every_change_from_its_version_on(server: Server) -> None:
    server.create(CONFIGMAPS, config_map("a"))
    watcher = server.watch(MAPS, resourceVersion=str(server.store.version))
    assert watcher.told() == []
    calls = watcher.calls
    made = server.create(CONFIGMAPS, config_map("b"))
    server.ok("PUT", f"{MAPS}/b", {**made, "data": {}})
    server.ok("DELETE", f"{MAPS}/b")
    assert watcher.calls == calls + 1  # told once, until it has taken everything
    assert watcher.told() == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")]


def test_a_watch_without_version_begins_with_what_is_there(server: Server) -> None:
    server.create(CONFIGMAPS, config_map("a"))
    assert server.watch(MAPS).told() == [("ADDED", "a")]
    listed = server.watch(
        MAPS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )
    events = listed.events()
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_entering_and_leaving_a_selection(server: Server) -> None:
    watcher = server.watch(MAPS, resourceVersion=str(server.store.version), labelSelector="in=yes")
    server.create(CONFIGMAPS, config_map("a"))
    for label in ("yes", "no", "yes"):
        server.ok("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"in": label}}}, media=MERGE_PATCH)
    last = server.ok("DELETE", f"{MAPS}/a")
    events = watcher.events()
    assert [event["type"] for event in events] == ["ADDED", "DELETED", "ADDED", "DELETED"]
    assert events[1]["object"]["metadata"]["labels"] == {"in": "yes"}
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert last["status"] == "Success"


def test_a_watch_from_before_the_history_is_gone(server: Server) -> None:
    server.store.bucket(CONFIGMAPS).oldest = 1000
    event = server.watch(MAPS, resourceVersion="5").events()[0]
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"


def test_a_watch_can_be_read_in_small_pieces(server: Server) -> None:
    watcher = server.watch(MAPS, resourceVersion=str(server.store.version))
    for index in range(20):
        server.create(CONFIGMAPS, config_map(f"c{index}"))
    names: list[str] = []
    while part := watcher.events(limit=1):
        names += [event["object"]["metadata"]["name"] for event in part]
    assert names == [f"c{index}" for index in range(20)]


# --- custom resources --------------------------------------------------------------------------------------


def definition(**version: object) -> Document:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "color": {"type": "string", "default": "red"},
                },
            },
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boxes", "kind": "Box", "singular": "box", "shortNames": ["bx"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    **version,
                }
            ],
        },
    }


def box(name: str, **spec: object) -> Document:
    return {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": name}, "spec": spec}


BOXES = "/apis/example.com/v1/namespaces/default/boxes"


def test_the_life_of_a_custom_resource(server: Server) -> None:
    assert server.call("GET", BOXES).status == 404
    server.create(CUSTOMRESOURCEDEFINITIONS, definition(), "")
    conditions = server.ok("GET", CUSTOMRESOURCEDEFINITIONS.path(name="boxes.example.com"))["status"]["conditions"]
    assert {c["type"]: c["status"] for c in conditions} == {"NamesAccepted": "True", "Established": "True"}
    made = server.ok("POST", BOXES, {**box("a", size=3, extra=1), "status": {"phase": "no"}})
    assert made["spec"] == {"size": 3, "color": "red"}
    assert "status" not in made
    assert server.no("POST", BOXES, box("b", size=0))["code"] == 422
    assert server.no("POST", BOXES, box("b"))["code"] == 422
    server.ok("PATCH", BOXES + "/a/status", {"status": {"phase": "done"}}, media=MERGE_PATCH)
    assert server.no("PATCH", BOXES + "/a", {}, media=STRATEGIC_PATCH)["code"] == 415
    assert server.ok("GET", BOXES)["kind"] == "BoxList"
    watcher = server.watch(BOXES)
    assert watcher.told() == [("ADDED", "a")]
    server.ok("DELETE", CUSTOMRESOURCEDEFINITIONS.path(name="boxes.example.com"))
    assert watcher.told() == [("DELETED", "a")]
    assert watcher.feed.finished
    assert server.call("GET", BOXES).status == 404
    assert server.call("GET", CUSTOMRESOURCEDEFINITIONS.path(name="boxes.example.com")).status == 404


def test_a_definition_waits_for_objects_that_are_held(server: Server) -> None:
    server.create(CUSTOMRESOURCEDEFINITIONS, definition(), "")
    held = box("a", size=1)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    server.ok("POST", BOXES, held)
    path = CUSTOMRESOURCEDEFINITIONS.path(name="boxes.example.com")
    server.ok("DELETE", path)
    assert server.ok("GET", path)["metadata"]["deletionTimestamp"]
    assert server.no("POST", BOXES, box("b", size=1))["code"] == 403
    server.ok("PATCH", BOXES + "/a", {"metadata": {"finalizers": None}}, media=MERGE_PATCH)
    assert server.call("GET", path).status == 404


def test_versions_share_their_objects(server: Server) -> None:
    crd = definition()
    crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v2", "storage": False})
    server.create(CUSTOMRESOURCEDEFINITIONS, crd, "")
    server.ok("POST", BOXES, box("a", size=1))
    two = BOXES.replace("/v1/", "/v2/")
    assert server.ok("GET", two + "/a")["apiVersion"] == "example.com/v2"
    assert [item["apiVersion"] for item in server.ok("GET", two)["items"]] == ["example.com/v2"]
    assert server.watch(two).events()[0]["object"]["apiVersion"] == "example.com/v2"
    assert server.ok("GET", BOXES + "/a")["apiVersion"] == "example.com/v1"
