"""What docs/differences.md says, shown: here alone the two servers are expected to answer differently."""

from __future__ import annotations

import json

from tests.compat.client import Server, eventually
from tests.compat.objects import configmap, crd, unplaced_pod

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_who_owns_a_field(server: Server, ns: str) -> None:
    made = server.create(f"/api/v1/namespaces/{ns}/configmaps", configmap("c", a="1"))
    assert ("managedFields" in made["metadata"]) == (server.kind == "real")


def test_server_side_apply(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/configmaps/c"
    query = {"fieldManager": "story"}
    answer = server.http("PATCH", path, configmap("c"), query=query, content_type="application/apply-patch+yaml")
    assert answer.status == (201 if server.kind == "real" else 415)


def test_quotas(server: Server, ns: str) -> None:
    server.kubectl("create", "quota", "one", "-n", ns, "--hard=pods=1")
    if server.kind == "real":
        path = f"/api/v1/namespaces/{ns}/resourcequotas/one"
        eventually(lambda: "used" in server.get(path).get("status", {}), "the quota is counted")
    answers = [server.http("POST", f"/api/v1/namespaces/{ns}/pods", unplaced_pod(name)) for name in ("a", "b")]
    assert [answer.status for answer in answers] == ([201, 403] if server.kind == "real" else [201, 201])


def test_the_only_user_may_do_everything(server: Server, ns: str) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    answer = server.http("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert answer.status == (201 if server.kind == "real" else 404)


def test_another_form_of_answer(server: Server, ns: str) -> None:
    accept = {"Accept": "application/vnd.kubernetes.protobuf, application/json;q=0.5"}
    answer = server.http("GET", f"/api/v1/namespaces/{ns}/configmaps", headers=accept)
    kinds = {"real": "application/vnd.kubernetes.protobuf", "embedded": "application/json"}
    assert answer.headers["Content-Type"] == kinds[server.kind]
    for only in ("application/vnd.kubernetes.protobuf", "application/yaml"):
        answer = server.http("GET", f"/api/v1/namespaces/{ns}/configmaps", headers={"Accept": only})
        assert answer.status == (200 if server.kind == "real" else 406)


def test_how_deep_a_body_may_be(server: Server) -> None:
    definition = crd("deeps", "Deep", {"deep": {"type": "string"}}, "deep.differences.example")
    schema = b'{"type":"object","properties":{"a":' * 484 + b'{"type":"string"}' + b"}}" * 484
    body = json.dumps(definition).encode().replace(b'"deep": {"type": "string"}', b'"deep":' + schema)
    answer = server.http("POST", DEFINITIONS, body)
    assert answer.status == (201 if server.kind == "real" else 400)
    if server.kind == "embedded":
        assert "exceeded max depth" in answer.json["message"]
    assert server.http("GET", "/openapi/v2").status == 200
    server.http("DELETE", f"{DEFINITIONS}/deeps.deep.differences.example")
