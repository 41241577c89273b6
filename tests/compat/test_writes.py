"""Writing: optimistic locking, names, dry runs, strictness about fields, what the server keeps in metadata."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.compat.client import Server
from tests.compat.objects import configmap, crd, deployment, unplaced_pod

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def configmaps(ns: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{ns}/configmaps" + (f"/{name}" if name else "")


def pods(ns: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{ns}/pods" + (f"/{name}" if name else "")


def deployments(ns: str, name: str = "") -> str:
    return f"/apis/apps/v1/namespaces/{ns}/deployments" + (f"/{name}" if name else "")


def test_a_created_object_gets_its_metadata_from_the_server(server: Server, ns: str) -> None:
    made = server.create(configmaps(ns), configmap("a", color="red"))
    metadata = made["metadata"]
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert metadata["resourceVersion"].isdigit()
    assert metadata["namespace"] == ns
    assert "selfLink" not in metadata
    assert "generation" not in metadata  # a ConfigMap has no spec to count changes of
    assert server.get(configmaps(ns, "a")) == made


def test_what_a_client_writes_into_server_owned_metadata_is_ignored(server: Server, ns: str) -> None:
    wish = configmap("a")
    wish["metadata"].update(
        uid="11111111-1111-1111-1111-111111111111",
        creationTimestamp="2001-01-01T00:00:00Z",
        generation=99,
        deletionTimestamp="2001-01-01T00:00:00Z",
        selfLink="/nowhere",
    )
    metadata = server.create(configmaps(ns), wish)["metadata"]
    assert metadata["uid"] != wish["metadata"]["uid"]
    assert not metadata["creationTimestamp"].startswith("2001")
    assert "deletionTimestamp" not in metadata


def test_generate_name_adds_five_characters(server: Server, ns: str) -> None:
    wish = configmap("unused")
    wish["metadata"] = {"generateName": "part-"}
    names = {server.create(configmaps(ns), wish)["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(re.fullmatch(r"part-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_a_stale_update_is_refused_and_a_fresh_one_is_not(server: Server, ns: str) -> None:
    first = server.create(configmaps(ns), configmap("a", n="1"))
    fresh = server.http("PUT", configmaps(ns, "a"), {**first, "data": {"n": "2"}}).expect(200)
    assert int(fresh["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    stale = server.http("PUT", configmaps(ns, "a"), {**first, "data": {"n": "3"}})
    assert (stale.status, stale.reason) == (409, "Conflict")
    assert stale.json["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert server.get(configmaps(ns, "a"))["data"] == {"n": "2"}


def test_an_update_without_a_version_overwrites(server: Server, ns: str) -> None:
    server.create(configmaps(ns), configmap("a", n="1"))
    assert server.http("PUT", configmaps(ns, "a"), configmap("a", n="2")).expect(200)["data"] == {"n": "2"}


def test_an_update_that_changes_nothing_keeps_the_version(server: Server, ns: str) -> None:
    made = server.create(configmaps(ns), configmap("a", n="1"))
    again = server.http("PUT", configmaps(ns, "a"), made).expect(200)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    patched = server.merge(configmaps(ns, "a"), {"data": {"n": "1"}})
    assert patched["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_an_update_with_another_uid_is_refused(server: Server, ns: str) -> None:
    made = server.create(configmaps(ns), configmap("a"))
    made["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111"
    del made["metadata"]["resourceVersion"]
    answer = server.http("PUT", configmaps(ns, "a"), made)
    assert (answer.status, answer.reason) == (409, "Conflict")


def test_patches_without_a_version_never_lose_one_another(server: Server, ns: str) -> None:
    server.create(configmaps(ns), configmap("a"))

    def patch(number: int) -> int:
        body = {"data": {f"k{number}": "v"}}
        return server.http("PATCH", configmaps(ns, "a"), body, content_type=MERGE).status

    with ThreadPoolExecutor(10) as threads:
        codes = list(threads.map(patch, range(20)))
    assert set(codes) <= {200, 409}  # a server may give up after some collisions, but never silently
    kept = server.get(configmaps(ns, "a")).get("data", {})
    assert len(kept) == codes.count(200) >= 10


def test_a_patch_may_demand_a_version(server: Server, ns: str) -> None:
    made = server.create(configmaps(ns), configmap("a", n="1"))
    server.merge(configmaps(ns, "a"), {"data": {"n": "2"}})
    demand = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"n": "3"}}
    answer = server.http("PATCH", configmaps(ns, "a"), demand, content_type=MERGE)
    assert (answer.status, answer.reason) == (409, "Conflict")


def test_three_kinds_of_patch(server: Server, ns: str) -> None:
    two = [{"name": "one", "image": "x:1"}, {"name": "two", "image": "y:1"}]
    body = deployment("d", 0)
    body["spec"]["template"]["spec"]["containers"] = two
    server.create(deployments(ns), body)
    path = deployments(ns, "d")
    images = {"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "y:2"}]}}}}

    merged = server.http("PATCH", path, images, content_type=STRATEGIC).expect(200)
    containers = merged["spec"]["template"]["spec"]["containers"]
    # A changed item of a list merged by key comes first, the others keep their order.
    assert {c["name"]: c["image"] for c in containers} == {"one": "x:1", "two": "y:2"}

    replaced = server.http("PATCH", path, images, content_type=MERGE).expect(200)
    assert [c["name"] for c in replaced["spec"]["template"]["spec"]["containers"]] == ["two"]

    steps = [
        {"op": "test", "path": "/spec/replicas", "value": 0},
        {"op": "add", "path": "/metadata/labels/tier", "value": "back"},
        {"op": "copy", "from": "/metadata/labels/tier", "path": "/metadata/labels/layer"},
        {"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/application"},
        {"op": "replace", "path": "/spec/paused", "value": True},  # absent, and yet it may be replaced
    ]
    labels = server.http("PATCH", path, steps, content_type=JSON_PATCH).expect(200)["metadata"]["labels"]
    assert labels == {"tier": "back", "layer": "back", "application": "d"}


def test_strategic_patch_directives(server: Server, ns: str) -> None:
    body = deployment("d", 0)
    spec = body["spec"]["template"]["spec"]
    spec["containers"] = [
        {"name": "one", "image": "x", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "two", "image": "y"},
    ]
    spec["volumes"] = [{"name": "v", "emptyDir": {}}]
    spec["tolerations"] = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    server.create(deployments(ns), body)

    def patch(fields: dict[str, Any]) -> dict[str, Any]:
        document = {"spec": {"template": {"spec": fields}}}
        answer = server.http("PATCH", deployments(ns, "d"), document, content_type=STRATEGIC).expect(200)
        result: dict[str, Any] = answer["spec"]["template"]["spec"]
        return result

    got = patch({"containers": [{"name": "one", "env": [{"name": "A", "$patch": "delete"}]}]})
    assert got["containers"][0]["env"] == [{"name": "B", "value": "2"}]
    got = patch({"containers": [{"name": "two", "$patch": "delete"}]})
    assert [c["name"] for c in got["containers"]] == ["one"]
    got = patch({"tolerations": [{"key": "c", "operator": "Exists"}]})  # atomic: no merge key
    assert got["tolerations"] == [{"key": "c", "operator": "Exists"}]
    # $retainKeys lets a union change its member: emptyDir goes when configMap comes.
    got = patch({"volumes": [{"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "c"}}]})
    assert set(got["volumes"][0]) == {"name", "configMap"}
    got = patch(
        {"volumes": [{"name": "w", "emptyDir": {}}], "$setElementOrder/volumes": [{"name": "w"}, {"name": "v"}]}
    )
    assert [v["name"] for v in got["volumes"]] == ["w", "v"]
    got = patch({"volumes": [{"name": "only", "emptyDir": {}}, {"$patch": "replace"}]})
    assert [v["name"] for v in got["volumes"]] == ["only"]
    got = patch({"volumes": None})
    assert "volumes" not in got
    finalizers = ["stories.example/one", "stories.example/two"]
    path = deployments(ns, "d")
    server.http("PATCH", path, {"metadata": {"finalizers": finalizers}}, content_type=STRATEGIC).expect(200)
    drop = {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizers[0]]}}
    left = server.http("PATCH", path, drop, content_type=STRATEGIC).expect(200)["metadata"]["finalizers"]
    assert left == finalizers[1:]
    server.merge(path, {"metadata": {"finalizers": None}})


def test_generation_counts_changes_of_the_spec_only(server: Server, ns: str) -> None:
    path = f"/apis/apps/v1/namespaces/{ns}/replicasets"
    server.create(path, {**deployment("r", 0), "kind": "ReplicaSet"})

    def generation(patch: dict[str, Any]) -> int:
        return int(server.merge(f"{path}/r", patch)["metadata"]["generation"])

    assert server.get(f"{path}/r")["metadata"]["generation"] == 1
    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"metadata": {"annotations": {"a": "b"}}}) == 1
    assert generation({"spec": {"minReadySeconds": 1}}) == 2
    assert generation({"spec": {"minReadySeconds": 1}}) == 2
    assert generation({"status": {"replicas": 9}}) == 2
    assert generation({"metadata": {"generation": 70}}) == 2


def test_annotations_of_a_deployment_count_as_its_spec(server: Server, ns: str) -> None:
    """They are copied onto its ReplicaSets, so that its controller must look again."""
    server.create(deployments(ns), deployment("d", 0))
    before = server.merge(deployments(ns, "d"), {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"]
    after = server.merge(deployments(ns, "d"), {"metadata": {"annotations": {"a": "b"}}})["metadata"]["generation"]
    assert after > before


def test_status_and_spec_are_written_through_their_own_doors(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    kept = server.merge(pods(ns, "p"), {"status": {"message": "through the wrong door"}})
    assert "message" not in kept["status"]
    condition = {"type": "stories.example/Gate", "status": "True", "reason": "Because"}
    both = {"status": {"message": "yes", "conditions": [condition]}, "spec": {"activeDeadlineSeconds": 5}}
    answer = server.http("PATCH", pods(ns, "p") + "/status", both, content_type=STRATEGIC).expect(200)
    assert answer["status"]["message"] == "yes"
    assert "activeDeadlineSeconds" not in answer["spec"]
    assert {c["type"] for c in answer["status"]["conditions"]} >= {"stories.example/Gate"}


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
def test_a_dry_run_changes_nothing(server: Server, ns: str, verb: str) -> None:
    made = server.create(configmaps(ns), configmap("a", n="1"))
    all_of_it = {"dryRun": "All"}
    if verb == "create":
        server.http("POST", configmaps(ns), configmap("b"), query=all_of_it).expect(201)
        taken = server.http("POST", configmaps(ns), configmap("a"), query=all_of_it)
        assert (taken.status, taken.reason) == (409, "AlreadyExists")
    elif verb == "update":
        answer = server.http("PUT", configmaps(ns, "a"), configmap("a", n="2"), query=all_of_it).expect(200)
        assert answer["data"] == {"n": "2"}
    elif verb == "patch":
        body = {"data": {"n": "2"}}
        answer = server.http("PATCH", configmaps(ns, "a"), body, query=all_of_it, content_type=MERGE).expect(200)
        assert answer["data"] == {"n": "2"}
    elif verb == "delete":
        server.http("DELETE", configmaps(ns, "a"), query=all_of_it).expect(200)
        server.http("DELETE", configmaps(ns, "a"), {"dryRun": ["All"]}).expect(200)
    else:
        server.http("DELETE", configmaps(ns), query=all_of_it).expect(200)
    assert server.get(configmaps(ns, "a")) == made
    assert server.http("GET", configmaps(ns, "b")).status == 404


def test_unknown_and_doubled_fields(server: Server, ns: str) -> None:
    body = b'{"kind":"ConfigMap","metadata":{"name":"%s","nope":1},"data":{"a":"1","a":"2"},"extra":true}'

    def create(name: bytes, validation: str) -> Any:
        query = {"fieldValidation": validation} if validation else None
        return server.http("POST", configmaps(ns), body % name, query=query)

    strict = create(b"strict", "Strict")
    assert (strict.status, strict.reason) == (400, "BadRequest")
    for part in ('unknown field "extra"', 'unknown field "metadata.nope"', 'duplicate field "data.a"'):
        assert part in strict.json["message"]
    warn = create(b"warn", "Warn")
    assert warn.status == 201
    warning = ", ".join(value for key, value in warn.headers.items() if key.lower() == "warning")
    assert warning.startswith("299 - ")
    assert "unknown field" in warning
    assert create(b"unsaid", "").status == 201
    ignore = create(b"ignore", "Ignore")
    assert ignore.status == 201
    assert not any(key.lower() == "warning" for key in ignore.headers)
    assert set(ignore.json) == {"kind", "apiVersion", "metadata", "data"}
    wrong = create(b"wrong", "Sometimes")
    assert (wrong.status, wrong.reason) == (422, "Invalid")


def test_strictness_reaches_into_nested_fields_and_patches(server: Server, ns: str) -> None:
    body = unplaced_pod("p")
    body["spec"]["containers"][0]["comand"] = ["x"]
    answer = server.http("POST", pods(ns), body, query={"fieldValidation": "Strict"})
    assert answer.status == 400
    assert 'unknown field "spec.containers[0].comand"' in answer.json["message"]
    server.create(pods(ns), unplaced_pod("p"))
    patch = {"spec": {"nodeNme": "x"}}
    for kind in (MERGE, STRATEGIC):
        query = {"fieldValidation": "Strict"}
        answer = server.http("PATCH", pods(ns, "p"), patch, query=query, content_type=kind)
        assert answer.status in (400, 422), kind
        assert 'unknown field "spec.nodeNme"' in answer.json["message"]


def test_immutable_fields_stay(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    changes: list[tuple[str, dict[str, Any]]] = [
        (pods(ns, "p"), {"spec": {"schedulerName": "other"}}),
        (pods(ns, "p"), {"spec": {"hostNetwork": True}}),
    ]
    server.create(deployments(ns), deployment("d", 0))
    changes.append((deployments(ns, "d"), {"spec": {"selector": {"matchLabels": {"app": "other"}}}}))
    secret = {"metadata": {"name": "s"}, "type": "Opaque", "stringData": {"a": "b"}}
    server.create(f"/api/v1/namespaces/{ns}/secrets", secret)
    changes.append((f"/api/v1/namespaces/{ns}/secrets/s", {"type": "other"}))
    fixed = {**configmap("c", a="b"), "immutable": True}
    server.create(configmaps(ns), fixed)
    changes.append((configmaps(ns, "c"), {"data": {"a": "c"}}))
    for path, patch in changes:
        answer = server.http("PATCH", path, patch, content_type=MERGE)
        assert (answer.status, answer.reason) == (422, "Invalid"), (path, patch, answer.body)


def test_a_pod_may_change_its_image_and_its_labels(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    patch = {"spec": {"containers": [{"name": "main", "image": "other:2"}]}}
    changed = server.http("PATCH", pods(ns, "p"), patch, content_type=STRATEGIC).expect(200)
    assert changed["spec"]["containers"][0]["image"] == "other:2"
    assert changed["metadata"]["generation"] == 2
    assert server.merge(pods(ns, "p"), {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 2


def test_preconditions_of_a_delete(server: Server, ns: str) -> None:
    made = server.create(configmaps(ns), configmap("a"))
    for wrong in ({"uid": "11111111-1111-1111-1111-111111111111"}, {"resourceVersion": "1"}):
        answer = server.http("DELETE", configmaps(ns, "a"), {"preconditions": wrong})
        assert (answer.status, answer.reason) == (409, "Conflict")
    right = {key: made["metadata"][key] for key in ("uid", "resourceVersion")}
    done = server.http("DELETE", configmaps(ns, "a"), {"preconditions": right}).expect(200)
    assert (done["kind"], done["status"]) == ("Status", "Success")
    assert done["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert server.http("GET", configmaps(ns, "a")).status == 404


def test_custom_resources_count_generations_too(server: Server, ns: str) -> None:
    definition = crd("counters", "Counter", {"n": {"type": "integer"}}, group="writes.example")
    definition["spec"]["versions"][0]["subresources"] = {"status": {}}
    server.kubectl("apply", "-f", "-", input=definition)
    server.established("crd/counters.writes.example")
    path = f"/apis/writes.example/v1/namespaces/{ns}/counters"
    body = {"apiVersion": "writes.example/v1", "kind": "Counter", "metadata": {"name": "c"}, "spec": {"n": 1}}
    assert server.create(path, body)["metadata"]["generation"] == 1
    assert server.merge(f"{path}/c", {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 1
    assert server.merge(f"{path}/c", {"spec": {"n": 2}})["metadata"]["generation"] == 2
    assert "status" not in server.merge(f"{path}/c", {"status": {"ready": True}})
    status = server.merge(f"{path}/c/status", {"status": {"ready": True}, "spec": {"n": 3}})
    assert (status["status"], status["spec"]["n"], status["metadata"]["generation"]) == ({"ready": True}, 2, 2)
    server.kubectl("delete", "crd", "counters.writes.example")


DOUBLED = """
{"apiVersion":"apps/v1","kind":"Deployment",
 "metadata":{"name":"d","strange":1,"labels":{"a":"1","a":"2"}},
 "spec":{%s,
  "selector":{"matchLabels":{"app":"x"}},
  "template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"n","name":"m","image":"i","odd":{"b":1,"b":2}}]}}},
 "last":1}
"""


@pytest.mark.parametrize(
    ("part", "reported"),
    [
        ('"no":1,"replicas":2,"replicas":3', ('unknown field "spec.no"', 'duplicate field "spec.replicas"')),
        ('"replicas":2,"replicas":3,"no":1', ('duplicate field "spec.replicas"', 'unknown field "spec.no"')),
        ('"replicas":2,"no":1,"replicas":3', ('unknown field "spec.no"', 'duplicate field "spec.replicas"')),
        ('"no":1,"no":2', ('unknown field "spec.no"',)),
    ],
)
def test_complaints_come_in_the_order_of_the_text(
    server: Server, ns: str, part: str, reported: tuple[str, ...]
) -> None:
    path = f"/apis/apps/v1/namespaces/{ns}/deployments"
    answer = server.http("POST", path, (DOUBLED % part).encode(), query={"fieldValidation": "Strict"})
    assert (answer.status, answer.reason) == (400, "BadRequest")
    expected = (
        'unknown field "metadata.strange"',
        'duplicate field "metadata.labels.a"',
        *reported,
        'duplicate field "spec.template.spec.containers[0].name"',
        'unknown field "spec.template.spec.containers[0].odd"',
        'unknown field "last"',
    )
    assert answer.json["message"].partition("strict decoding error: ")[2] == ", ".join(expected)


def test_doubled_keys_of_yaml_are_told_with_their_lines(server: Server, ns: str) -> None:
    text = b"metadata: {name: c}\ndata:\n  a: x\n  a: z\nodd: 1\n"
    path = f"/api/v1/namespaces/{ns}/configmaps"
    query = {"fieldValidation": "Strict"}
    answer = server.http("POST", path, text, query=query, content_type="application/yaml")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert 'line 4: key "a" already set in map, unknown field "odd"' in answer.json["message"]


def test_values_that_only_yaml_has(server: Server, ns: str) -> None:
    """A date, a binary, a time of day and a number beyond all bounds are text, as everywhere in Kubernetes."""
    long = "9" * 5000
    text = f"""
metadata: {{name: c}}
data:
  date: 2001-01-01
  nonsense: 2001-13-45
  time: 8080:80
  binary: !!binary aGk=
  long: {long}
  1: one
  true: two
"""
    path = f"/api/v1/namespaces/{ns}/configmaps"
    made = server.http("POST", path, text.encode(), content_type="application/yaml").expect(201)
    assert made["data"] == {
        "date": "2001-01-01",
        "nonsense": "2001-13-45",
        "time": "8080:80",
        "binary": "hi",
        "long": long,
        "1": "one",
        "true": "two",
    }
