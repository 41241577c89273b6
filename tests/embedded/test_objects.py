"""Writes and reads of objects at their edges: dry runs, finalizers, generations, versions, and who decides."""

from __future__ import annotations

import msgspec
import pytest

from podium.embedded.exchange import Held
from podium.kube import fields
from podium.kube.admission import Hook, Surroundings
from podium.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS
from podium.kube.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Request, Response
from tests.embedded.server import Document, Server, Watcher, config_map, pod

MAPS = CONFIGMAPS.path("default")
HOLD = ["example.com/hold"]


@pytest.fixture
def server() -> Server:
    return Server()


def deployment(name: str, **metadata: object) -> Document:
    labels = {"matchLabels": {"a": "b"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **metadata},
        "spec": {"selector": labels, "template": template},
    }


# --- hooks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("media", [MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH])
def test_a_patch_of_metadata_alone_is_judged_by_hooks_as_well(media: str) -> None:
    def check(document: Document, old: Document | None, around: Surroundings) -> list[fields.FieldError]:
        bad = "bad" in (document["metadata"].get("labels") or {})
        return [fields.forbidden("metadata.labels", "bad is not good")] if bad else []

    server = Server((Hook(CONFIGMAPS, None, check, None),))
    server.create(CONFIGMAPS, config_map("a", labels={"x": "y"}))
    operations = [{"op": "add", "path": "/metadata/labels/bad", "value": "1"}]
    body = operations if media == JSON_PATCH else {"metadata": {"labels": {"bad": "1"}}}
    assert server.no("PATCH", f"{MAPS}/a", body, media=media)["code"] == 422
    assert server.ok("GET", f"{MAPS}/a")["metadata"]["labels"] == {"x": "y"}


# --- dry runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
def test_a_dry_run_of_the_write_that_removes_the_last_finalizer_removes_nothing(
    server: Server, whole: bool
) -> None:
    server.create(CONFIGMAPS, config_map("a", finalizers=HOLD))
    server.ok("DELETE", f"{MAPS}/a")
    held, version = server.ok("GET", f"{MAPS}/a"), server.store.version
    free = {**held, "metadata": {**held["metadata"], "finalizers": []}}
    if whole:
        answer = server.ok("PUT", f"{MAPS}/a", free, dryRun="All")
    else:
        answer = server.ok(
            "PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, media=MERGE_PATCH, dryRun="All"
        )
    assert "finalizers" not in answer["metadata"]
    assert server.ok("GET", f"{MAPS}/a") == held
    assert server.store.version == version


def test_dry_runs_of_updates_and_deletes_change_nothing(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"))
    held = server.create(CONFIGMAPS, config_map("held", finalizers=HOLD))
    version = server.store.version
    answer = server.ok("PUT", f"{MAPS}/a", {**made, "data": {"k": "other"}}, dryRun="All")
    assert answer["data"] == {"k": "other"}
    assert answer["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    server.ok("DELETE", f"{MAPS}/a", {"dryRun": ["All"]})
    server.ok("DELETE", f"{MAPS}/held", {"dryRun": ["All"]})
    assert server.ok("GET", f"{MAPS}/a") == made
    assert server.ok("GET", f"{MAPS}/held") == held
    assert server.store.version == version


# --- deletion ----------------------------------------------------------------------------------------------------


def test_the_first_deletion_is_a_change_of_generation_and_the_second_is_nothing(server: Server) -> None:
    path = DEPLOYMENTS.path("default", "d")
    server.create(DEPLOYMENTS, deployment("d", finalizers=HOLD))
    assert server.ok("DELETE", path)["metadata"]["generation"] == 2
    version = server.store.version
    assert server.ok("DELETE", path)["metadata"]["generation"] == 2
    assert server.store.version == version
    # Kinds without one get none.
    server.create(CONFIGMAPS, config_map("a", finalizers=HOLD))
    assert "generation" not in server.ok("DELETE", f"{MAPS}/a")["metadata"]


def test_a_shorter_grace_is_no_second_generation(server: Server) -> None:
    path = PODS.path("default", "p")
    server.create(PODS, pod())
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {}, "target": {"kind": "Node", "name": "n"}}
    server.ok("POST", PODS.path("default", "p", "binding"), binding)
    first = server.ok("DELETE", path, {"gracePeriodSeconds": 20})["metadata"]
    second = server.ok("DELETE", path, {"gracePeriodSeconds": 10})["metadata"]
    assert second["deletionGracePeriodSeconds"] == 10
    assert first.get("generation") == second.get("generation")


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_some_namespaces_stay(server: Server, name: str) -> None:
    assert server.no("DELETE", NAMESPACES.path(name=name))["code"] == 403


# --- what a write may say ----------------------------------------------------------------------------------------


def test_a_patch_to_a_wrong_type_is_an_invalid_object(server: Server) -> None:
    server.create(CONFIGMAPS, config_map("a"))
    refused = server.no("PATCH", f"{MAPS}/a", {"data": {"k": 5}}, media=MERGE_PATCH)
    assert (refused["code"], refused["reason"]) == (422, "Invalid")


def test_names_and_namespaces_are_those_of_the_path(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"))

    def changed(**metadata: str) -> Document:
        return {**made, "metadata": {**made["metadata"], **metadata}}

    assert "does not match the name" in server.no("PUT", f"{MAPS}/a", changed(name="b"))["message"]
    assert "does not match the namespace" in server.no("PUT", f"{MAPS}/a", changed(namespace="x"))["message"]
    assert server.no("PUT", f"{MAPS}/a", changed(uid="other"))["code"] == 409
    patch = {"metadata": {"uid": "other"}}
    assert server.no("PATCH", f"{MAPS}/a", patch, media=MERGE_PATCH)["code"] == 422
    assert server.no("PUT", f"{MAPS}/a", changed(resourceVersion="1"))["code"] == 409
    without = {**made, "metadata": {"name": "a"}}
    assert server.ok("PUT", f"{MAPS}/a", without)["metadata"]["uid"] == made["metadata"]["uid"]


def test_empty_lists_and_maps_in_the_metadata_are_not_kept(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a", labels={"x": "y"}, annotations={"x": "y"}))
    empty = {**made["metadata"], "labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}
    stored = server.ok("PUT", f"{MAPS}/a", {**made, "metadata": empty})["metadata"]
    assert not {"labels", "annotations", "finalizers", "ownerReferences"} & stored.keys()


def test_what_the_server_has_written_is_not_changed_by_a_client(server: Server) -> None:
    made = server.create(CONFIGMAPS, {**config_map("x"), "metadata": {"generateName": "a-"}})
    name = made["metadata"]["name"]
    said = {"name": name, "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x", "managedFields": []}
    stored = server.ok("PUT", f"{MAPS}/{name}", {**made, "metadata": said, "data": {}})["metadata"]
    assert stored["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert stored["generateName"] == "a-"
    assert not {"selfLink", "managedFields"} & stored.keys()


def test_what_only_the_server_writes_is_not_taken_from_a_client(server: Server) -> None:
    made = server.create(CONFIGMAPS, config_map("a"))
    said = {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5, "generation": 7}
    stored = server.ok("PUT", f"{MAPS}/a", {**made, "metadata": {**made["metadata"], **said}})
    assert not said.keys() & stored["metadata"].keys()
    patched = server.ok("PATCH", f"{MAPS}/a", {"metadata": {**said, "labels": {"x": "y"}}}, media=MERGE_PATCH)
    assert not said.keys() & patched["metadata"].keys()
    assert patched["metadata"]["labels"] == {"x": "y"}


def test_labels_that_come_with_a_status_are_judged_as_well(server: Server) -> None:
    server.create(PODS, pod())
    path = PODS.path("default", "p", "status")
    refused = server.no("PATCH", path, {"metadata": {"labels": {"not good!": "x"}}}, media=MERGE_PATCH)
    assert refused["code"] == 422
    stored = server.ok("PATCH", path, {"status": {"message": "m"}}, media=MERGE_PATCH)
    assert stored["status"]["message"] == "m"


def test_addresses_of_a_pod_are_kept_in_both_forms(server: Server) -> None:
    server.create(PODS, pod())
    path = PODS.path("default", "p", "status")
    stored = server.ok("PATCH", path, {"status": {"message": "m"}}, media=MERGE_PATCH)
    assert not {"podIP", "podIPs"} & stored["status"].keys()
    stored = server.ok("PATCH", path, {"status": {"podIP": "10.0.0.1"}}, media=MERGE_PATCH)
    assert stored["status"]["podIPs"] == [{"ip": "10.0.0.1"}]


def test_the_last_word_on_an_object_has_no_grace(server: Server) -> None:
    watcher = server.watch(MAPS)
    server.create(CONFIGMAPS, config_map("a"))
    server.ok("DELETE", f"{MAPS}/a", {"gracePeriodSeconds": 9})
    last = watcher.events()[-1]
    assert last["type"] == "DELETED"
    assert last["object"]["metadata"].get("deletionGracePeriodSeconds", 0) == 0


# --- lists by version --------------------------------------------------------------------------------------------


def listed(server: Server, **query: str) -> list[str]:
    return [item["metadata"]["name"] for item in server.ok("GET", MAPS, **query)["items"]]


def test_as_of_which_version_a_list_is(server: Server) -> None:
    server.create(CONFIGMAPS, config_map("a"))
    then = str(server.store.version)
    server.create(CONFIGMAPS, config_map("b"))
    server.ok("DELETE", f"{MAPS}/a")
    assert listed(server) == listed(server, resourceVersion="0") == ["b"]
    # At least as new as that, or exactly that.
    assert listed(server, resourceVersion=then) == ["b"]
    assert listed(server, resourceVersion=then, resourceVersionMatch="NotOlderThan") == ["b"]
    assert listed(server, resourceVersion=then, resourceVersionMatch="Exact") == ["a"]
    assert listed(server, resourceVersion=then, limit="5") == ["a"]
    assert listed(server, resourceVersion=then, limit="5", resourceVersionMatch="NotOlderThan") == ["b"]


def test_versions_that_there_are_not(server: Server) -> None:
    future = str(server.store.version + 1)
    refused = server.no("GET", MAPS, resourceVersion=future)
    assert (refused["code"], refused["details"]["retryAfterSeconds"]) == (504, 1)
    assert server.ok("GET", MAPS, resourceVersion=str(server.store.version))["items"] == []
    assert server.no("GET", MAPS, resourceVersion="x")["code"] == 400


def test_a_token_that_is_none_is_refused(server: Server) -> None:
    for token in ("x", "%%%", "e30"):
        assert server.no("GET", MAPS, **{"continue": token})["code"] == 400


def test_pages_of_a_list_show_what_was_there_when_it_began(server: Server) -> None:
    for name in "bdf":
        server.create(CONFIGMAPS, config_map(name))
    server.create(CONFIGMAPS, config_map("other"), "kube-system")
    first = server.ok("GET", MAPS, limit="1")
    assert first["metadata"]["remainingItemCount"] == 2
    for name in "ace":
        server.create(CONFIGMAPS, config_map(name))
    server.ok("DELETE", f"{MAPS}/f")
    server.ok("PATCH", f"{MAPS}/d", {"data": {"k": "new"}}, media=MERGE_PATCH)
    rest = server.ok("GET", MAPS, limit="5", **{"continue": first["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["d", "f"]
    assert rest["items"][0]["data"] == {"k": "v"}
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in rest["metadata"]
    everywhere = server.ok("GET", CONFIGMAPS.path(""), limit="100")
    assert msgspec.json.encode(everywhere).count(b'"other"') >= 1


def test_the_first_event_of_a_watched_table_has_its_columns(server: Server) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    reply = server.api.handle(Request("GET", MAPS, (("watch", "true"),), accept=accept))
    assert not isinstance(reply, Response | Held)
    watcher = Watcher(reply)
    for name in "ab":
        server.create(CONFIGMAPS, config_map(name))
    first, second = watcher.events()
    assert first["object"]["kind"] == second["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"]
    assert not second["object"].get("columnDefinitions")
