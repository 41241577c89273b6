"""Bad requests: the table of what a server answers to each, the same on both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.compat.client import Server
from tests.compat.objects import configmap

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
MIB = 1 << 20


@dataclass(frozen=True)
class Bad:
    """A request, and the refusal it must get.  The path is relative to the story's ConfigMaps, unless it begins
    with a slash.  One ConfigMap, `there`, exists."""

    title: str
    method: str
    path: str
    body: Any
    code: int
    reason: str
    query: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    message: str = ""  # a part that people search the web for, where it matters


def _get(title: str, code: int, reason: str, message: str = "", **query: str) -> Bad:
    return Bad(title, "GET", "", None, code, reason, query=query, message=message)


def _post(title: str, body: Any, code: int, reason: str, message: str = "", **query: str) -> Bad:
    return Bad(title, "POST", "", body, code, reason, query=query, message=message)


def _patch(title: str, kind: str, body: Any, code: int, reason: str, message: str = "") -> Bad:
    return Bad(title, "PATCH", "there", body, code, reason, content_type=kind, message=message)


def _yaml(title: str, text: str, code: int, reason: str, message: str = "") -> Bad:
    body = f"apiVersion: v1\nkind: ConfigMap\n{text}\n".encode()
    return Bad(title, "POST", "", body, code, reason, content_type="application/yaml", message=message)


def _path(title: str, method: str, path: str, code: int, reason: str, body: Any = None) -> Bad:
    return Bad(title, method, path, body, code, reason)


NO_NUMBERS = {
    "in superscript": "²",
    "in another script": "٣",
    "of 5,000 digits": "9" * 5000,
    "with a fraction": "1.5",
    "with underscores": "1_0",
    "with a space": " 1",
}

DEEP = b'{"x":' * 20_000 + b"1" + b"}" * 20_000
BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 31))

TABLE = [
    # --- bodies that cannot be read --------------------------------------------------------------------------
    _post("JSON cut short", b"{", 400, "BadRequest"),
    _post("an array", b"[]", 400, "BadRequest"),
    _post("a string", b'"x"', 400, "BadRequest"),
    _post("no body", b"", 400, "BadRequest"),
    _post("a string for a map", {"metadata": {"name": "b"}, "data": "x"}, 400, "BadRequest"),
    _post("a number for a string", {"metadata": {"name": "b"}, "data": {"a": 1}}, 400, "BadRequest"),
    _post("no time", {"metadata": {"name": "b", "creationTimestamp": "yesterday"}}, 400, "BadRequest"),
    Bad(
        "a word for a number",
        "POST",
        "/apis/apps/v1/namespaces/{ns}/deployments",
        {"metadata": {"name": "b"}, "spec": {"replicas": "two"}},
        400,
        "BadRequest",
    ),
    Bad(
        "an object for a list",
        "POST",
        "/api/v1/namespaces/{ns}/pods",
        {"metadata": {"name": "b"}, "spec": {"containers": {}}},
        400,
        "BadRequest",
    ),
    Bad(
        "no quantity",
        "POST",
        "/api/v1/namespaces/{ns}/pods",
        {
            "metadata": {"name": "b"},
            "spec": {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "lots"}}}]},
        },
        400,
        "BadRequest",
        message="quantities must match the regular expression",
    ),
    _post("4 MiB created", configmap("big", a="x" * (4 * MIB)), 413, "RequestEntityTooLarge", "limit is 3145728"),
    Bad("4 MiB updated", "PUT", "there", configmap("there", a="x" * (4 * MIB)), 413, "RequestEntityTooLarge"),
    _patch("4 MiB patched", MERGE, {"data": {"a": "x" * (4 * MIB)}}, 413, "RequestEntityTooLarge"),
    _post(
        "a ConfigMap of 2 MiB", configmap("big", a="x" * (2 * MIB)), 422, "Invalid", "may not be more than 1048576"
    ),
    _post(
        "JSON 20,000 deep",
        b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        400,
        "BadRequest",
        "exceeded max depth",
    ),
    _patch("a patch 20,000 deep", MERGE, b'{"x":' * 20_000 + b"1" + b"}" * 20_000, 400, "BadRequest", "max depth"),
    _patch(
        "a strategic patch 20,000 deep", STRATEGIC, b'{"x":' * 20_000 + b"1" + b"}" * 20_000, 400, "BadRequest"
    ),
    _patch("a JSON patch 20,000 deep", JSON_PATCH, b"[" * 20_000 + b"]" * 20_000, 400, "BadRequest", "max depth"),
    _path(
        "delete options 20,000 deep",
        "DELETE",
        "there",
        400,
        "BadRequest",
        b'{"x":' * 20_000 + b"1" + b"}" * 20_000,
    ),
    _yaml("YAML 20,000 deep", "x: " + "[" * 20_000 + "]" * 20_000, 400, "BadRequest", "exceeded max depth"),
    _yaml("YAML blocks 20,000 deep", "- " * 20_000, 400, "BadRequest"),
    _yaml("YAML that doubles itself thirty times", BOMB, 400, "BadRequest", "alias"),
    _yaml("YAML that holds itself", "metadata: &a {name: b, labels: *a}", 400, "BadRequest", "itself"),
    _yaml("an infinite number", "metadata: {name: b}\ndata: {a: .inf}", 400, "BadRequest"),
    _yaml("a key that is nothing", "metadata: {name: b}\ndata: {~: a}", 400, "BadRequest"),
    _yaml("a number for a string", "metadata: {name: b}\ndata: {a: 1e3}", 400, "BadRequest"),
    _yaml("a binary that is text", "metadata: {name: b}\nbinaryData: {a: !!binary aGk=}", 400, "BadRequest"),
    # --- kinds, versions and names that do not fit together --------------------------------------------------
    _post("another kind", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "b"}}, 400, "BadRequest"),
    _post("an unknown kind", {"kind": "Nope", "apiVersion": "v1", "metadata": {"name": "b"}}, 400, "BadRequest"),
    _post("an unknown version", {**configmap("b"), "apiVersion": "v2"}, 400, "BadRequest"),
    _post("another group", {**configmap("b"), "apiVersion": "apps/v1"}, 400, "BadRequest"),
    _post("no group at all", {**configmap("b"), "apiVersion": "a/b/c"}, 400, "BadRequest"),
    _post("another namespace", {"metadata": {"name": "b", "namespace": "other"}}, 400, "BadRequest"),
    Bad(
        "another namespace in a PUT",
        "PUT",
        "there",
        {"metadata": {"name": "there", "namespace": "o"}},
        400,
        "BadRequest",
    ),
    Bad("another name in a PUT", "PUT", "there", configmap("b"), 400, "BadRequest"),
    Bad("no name in a PUT", "PUT", "there", {"data": {}}, 400, "BadRequest"),
    _post("no name", {"metadata": {}}, 422, "Invalid", "name or generateName is required"),
    _post("a bad name", configmap("Bad_Name"), 422, "Invalid", "a lowercase RFC 1123 subdomain must consist of"),
    _post("a bad prefix of a name", {"metadata": {"generateName": "Bad_"}}, 422, "Invalid"),
    _post("a taken name", configmap("there"), 409, "AlreadyExists", 'configmaps "there" already exists'),
    _post("a version to create", {"metadata": {"name": "b", "resourceVersion": "5"}}, 500, ""),
    # --- metadata ---------------------------------------------------------------------------------------------
    _post("a bad label value", configmap("b", labels={"a": "no spaces"}), 422, "Invalid"),
    _post("a bad label key", configmap("b", labels={"-a": "x"}), 422, "Invalid"),
    _post("a bad annotation key", {"metadata": {"name": "b", "annotations": {"a b": "x"}}}, 422, "Invalid"),
    _post("annotations too big", {"metadata": {"name": "b", "annotations": {"a": "x" * 270_000}}}, 422, "Invalid"),
    _post("a bad finalizer", {"metadata": {"name": "b", "finalizers": ["bad finalizer"]}}, 422, "Invalid"),
    _post("half an owner", {"metadata": {"name": "b", "ownerReferences": [{"name": "a"}]}}, 422, "Invalid"),
    _post("a bad key of data", {"metadata": {"name": "b"}, "data": {"a b": "x"}}, 422, "Invalid"),
    # --- places that do not exist -------------------------------------------------------------------------------
    _path("an unknown resource", "GET", "/api/v1/namespaces/{ns}/nopes", 404, "NotFound"),
    _path("an unknown group", "GET", "/apis/nope.example/v1/nopes", 404, ""),
    _path("an unknown version of a group", "GET", "/apis/apps/v9/deployments", 404, "NotFound"),
    _path("an unknown path", "GET", "/nope", 404, ""),
    _path("an unknown subresource", "GET", "there/nope", 404, "NotFound"),
    _path("a missing namespace", "POST", "/api/v1/namespaces/absent/configmaps", 404, "NotFound", configmap("b")),
    _path("an object of a missing namespace", "GET", "/api/v1/namespaces/absent/configmaps/b", 404, "NotFound"),
    _path("a missing object", "GET", "absent", 404, "NotFound"),
    _path("a missing object updated", "PUT", "absent", 404, "NotFound", configmap("absent")),
    _path("a missing object deleted", "DELETE", "absent", 404, "NotFound"),
    Bad("a missing object patched", "PATCH", "absent", {}, 404, "NotFound", content_type=MERGE),
    # --- who asks ---------------------------------------------------------------------------------------------
    Bad("no token", "GET", "", None, 401, "Unauthorized", token=""),
    Bad("a wrong token", "GET", "", None, 401, "Unauthorized", token="nope"),
    Bad("a password", "GET", "", None, 401, "Unauthorized", token="", headers={"Authorization": "Basic Zm86YmFy"}),
    # --- methods and media -------------------------------------------------------------------------------------
    _path("PUT of a collection", "PUT", "", 405, "MethodNotAllowed", configmap("b")),
    Bad("PATCH of a collection", "PATCH", "", {}, 405, "MethodNotAllowed", content_type=MERGE),
    _path("POST to an object", "POST", "there", 405, "MethodNotAllowed", configmap("there")),
    _path("a method of another protocol", "PROPFIND", "", 405, "MethodNotAllowed"),
    _path("DELETE of all namespaces", "DELETE", "/api/v1/namespaces", 405, "MethodNotAllowed"),
    Bad("XML created", "POST", "", b"<a/>", 415, "UnsupportedMediaType", content_type="text/xml"),
    Bad("XML updated", "PUT", "there", b"<a/>", 415, "UnsupportedMediaType", content_type="text/xml"),
    _patch("plain JSON as a patch", "application/json", b"{}", 415, "UnsupportedMediaType"),
    Bad("XML wanted", "GET", "", None, 406, "NotAcceptable", headers={"Accept": "text/xml"}),
    # --- lists and watches --------------------------------------------------------------------------------------
    _get("a label selector with ===", 400, "BadRequest", labelSelector="a===b"),
    _get("a label selector without brackets", 400, "BadRequest", labelSelector="a in b"),
    _get("a label selector with a bad key", 400, "BadRequest", labelSelector="-x=1"),
    _get("an unknown field", 400, "BadRequest", "is not a known field selector", fieldSelector="data.x=1"),
    _get("a field selector without a value", 400, "BadRequest", fieldSelector="metadata.name"),
    Bad(
        "an unknown field of pods",
        "GET",
        "/api/v1/namespaces/{ns}/pods",
        None,
        400,
        "BadRequest",
        query={"fieldSelector": "spec.nope=1"},
        message="field label not supported: spec.nope",
    ),
    _get("a bad continue token", 400, "BadRequest", "invalid continue token", **{"continue": "xyz", "limit": "1"}),
    _get("a bad limit", 400, "BadRequest", limit="x"),
    *[_get(f"a limit {name}", 400, "BadRequest", limit=text) for name, text in NO_NUMBERS.items()],
    *[_get(f"a timeout {name}", 400, "BadRequest", timeoutSeconds=text) for name, text in NO_NUMBERS.items()],
    *[_get(f"a version {name}", 400, "BadRequest", resourceVersion=text) for name, text in NO_NUMBERS.items()],
    *[
        Bad(
            f"a watch's timeout {name}",
            "GET",
            "",
            None,
            400,
            "BadRequest",
            query={"watch": "1", "timeoutSeconds": text},
        )
        for name, text in NO_NUMBERS.items()
    ],
    *[
        Bad(
            f"a grace period {name}",
            "DELETE",
            "there",
            None,
            400,
            "BadRequest",
            query={"gracePeriodSeconds": text},
        )
        for name, text in NO_NUMBERS.items()
    ],
    _get("a bad version", 400, "BadRequest", resourceVersion="abc"),
    _get("a bad match", 422, "Invalid", resourceVersion="1", resourceVersionMatch="Maybe"),
    _get("a match without a version", 422, "Invalid", resourceVersionMatch="Exact"),
    _get("exactly version 0", 422, "Invalid", resourceVersion="0", resourceVersionMatch="Exact"),
    _get("a version of the future", 504, "Timeout", resourceVersion="99999999", resourceVersionMatch="Exact"),
    # --- options ------------------------------------------------------------------------------------------------
    _post("a bad dry run", configmap("b"), 422, "Invalid", dryRun="Maybe"),
    _post("a bad field validation", configmap("b"), 422, "Invalid", fieldValidation="Nope"),
    _post("a long manager", configmap("b"), 422, "Invalid", fieldManager="x" * 200),
    _post("unknown fields, strictly", {**configmap("b"), "x": 1}, 400, "BadRequest", fieldValidation="Strict"),
    _path("delete options cut short", "DELETE", "there", 400, "BadRequest", b"{"),
    _path("delete options that are a list", "DELETE", "there", 400, "BadRequest", b"[]"),
    _path("a word for a grace period", "DELETE", "there", 400, "BadRequest", {"gracePeriodSeconds": "x"}),
    _path("a grace period beyond 64 bits", "DELETE", "there", 400, "BadRequest", {"gracePeriodSeconds": 1 << 63}),
    Bad(
        "delete options as text", "DELETE", "there", b"{}", 415, "UnsupportedMediaType", content_type="text/plain"
    ),
    _path(
        "delete options of another kind", "DELETE", "there", 400, "BadRequest", {"kind": "Pod", "apiVersion": "v1"}
    ),
    _path("a bad propagation", "DELETE", "there", 422, "Invalid", {"propagationPolicy": "Maybe"}),
    _path(
        "two propagations",
        "DELETE",
        "there",
        422,
        "Invalid",
        {"propagationPolicy": "Orphan", "orphanDependents": True},
    ),
    # --- patches ------------------------------------------------------------------------------------------------
    _patch("a JSON patch cut short", JSON_PATCH, b"[{", 400, "BadRequest"),
    _patch("a JSON patch that is no list", JSON_PATCH, {"op": "add"}, 400, "BadRequest"),
    _patch("a merge patch cut short", MERGE, b"{", 400, "BadRequest"),
    _patch("a merge patch that is a list", MERGE, b"[]", 400, "BadRequest"),
    _patch("a strategic patch that is a list", STRATEGIC, b"[]", 400, "BadRequest"),
    _patch("an unknown operation", JSON_PATCH, [{"op": "zap", "path": "/data"}], 422, "Invalid"),
    _patch("a failed test", JSON_PATCH, [{"op": "test", "path": "/data/n", "value": "9"}], 422, "Invalid"),
    _patch("a removal of nothing", JSON_PATCH, [{"op": "remove", "path": "/data/zz"}], 422, "Invalid"),
    _patch("a parent that is not there", JSON_PATCH, [{"op": "add", "path": "/x/y", "value": 1}], 422, "Invalid"),
    _patch(
        "a move from nowhere", JSON_PATCH, [{"op": "move", "from": "/data/z", "path": "/data/y"}], 422, "Invalid"
    ),
    _patch("a patch to a wrong type", JSON_PATCH, [{"op": "add", "path": "/data/n", "value": 5}], 422, "Invalid"),
    _patch("a merge to a wrong type", MERGE, {"data": {"n": 5}}, 422, "Invalid"),
    _patch("another name in a patch", MERGE, {"metadata": {"name": "other"}}, 400, "BadRequest"),
    _patch("another uid in a patch", MERGE, {"metadata": {"uid": "1-1"}}, 422, "Invalid", "field is immutable"),
    _patch("a stale version in a patch", MERGE, {"metadata": {"resourceVersion": "1"}}, 409, "Conflict"),
]


@pytest.fixture
def refusals(server: Server) -> str:
    """One namespace for the whole table: a refused request leaves no trace.  Where one was not refused after all,
    the next row finds things as they should be."""
    name = "refusals"
    there = f"/api/v1/namespaces/{name}/configmaps/there"
    if server.http("GET", there).json.get("data") != {"n": "1"}:
        server.http("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        server.http("DELETE", there)
        server.create(there.removesuffix("/there"), configmap("there", n="1"))
    return name


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.title)
def test_a_bad_request_is_refused_alike(server: Server, refusals: str, bad: Bad) -> None:
    base = f"/api/v1/namespaces/{refusals}/configmaps"
    path = bad.path.format(ns=refusals) if bad.path.startswith("/") else f"{base}/{bad.path}".rstrip("/")
    answer = server.http(
        bad.method,
        path,
        bad.body,
        query=bad.query,
        content_type=bad.content_type,
        headers=bad.headers,
        token=bad.token,
    )
    assert (answer.status, answer.reason) == (bad.code, bad.reason), answer.body[:500]
    if bad.reason:
        status = answer.json
        assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
        assert status["code"] == bad.code
        assert bad.message in status["message"]
    assert server.get(f"{base}/there")["data"] == {"n": "1"}, "a refused request changed something"


def test_what_is_refused_says_which_object_it_was_about(server: Server, ns: str) -> None:
    path = f"/apis/apps/v1/namespaces/{ns}/deployments/absent"
    assert server.http("GET", path).json["details"] == {"name": "absent", "group": "apps", "kind": "deployments"}
    assert server.http("GET", path).json["message"] == 'deployments.apps "absent" not found'
    body = {"metadata": {"name": "d"}, "spec": {}}
    details = server.http("POST", f"/apis/apps/v1/namespaces/{ns}/deployments", body).json["details"]
    assert (details["name"], details["group"], details["kind"]) == ("d", "apps", "Deployment")
    assert all(cause["message"] for cause in details["causes"])


def test_a_page_of_another_site_gets_nothing(server: Server) -> None:
    """A browser on this machine must not be a way in.  A real server has no such guard of its own."""
    if server.kind == "real":
        assert server.http("GET", "/version", headers={"Origin": "https://evil.example"}).status == 200
        return
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        answer = server.http("GET", "/version", headers=headers)
        assert (answer.status, answer.reason) == (403, "Forbidden")
