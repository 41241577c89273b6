"""What docs/differences.md says, shown: here alone the two servers are expected to answer differently."""

from __future__ import annotations

import json

from tests.compat.client import Server, eventually
from tests.compat.objects import configmap, crd, crd_version, pod, template, unplaced_pod

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


def test_conversion_by_a_webhook(server: Server, ns: str) -> None:
    """Versions that a webhook would have to convert are not served unconverted: the definition is refused."""
    definition = crd("hooked", "Hooked", {}, group=f"{ns}.example.com")
    definition["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/x"}, "conversionReviewVersions": ["v1"]},
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    where = f"{definitions}/{definition['metadata']['name']}"
    try:
        server.create(definitions, definition)  # there is nothing to convert
        versions = [crd_version("v1", {}), crd_version("v2", {}, storage=False)]
        patch = {"spec": {"versions": versions}}
        answer = server.http("PATCH", where, patch, content_type="application/merge-patch+json")
        if server.kind == "real":
            assert answer.status == 200
        else:
            assert (answer.status, answer.reason) == (422, "Invalid")
            assert answer.causes == {("spec.conversion.strategy", "FieldValueForbidden")}
            assert "this server calls no webhook to convert objects" in answer.json["message"]
    finally:
        server.http("DELETE", where)


def test_nothing_reaches_into_a_simulated_pod(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/pods"
    server.create(path, pod("p"))
    eventually(lambda: server.get(f"{path}/p")["status"]["phase"] == "Running", "the pod runs")
    commands = {
        "exec": ("exec", "{pod}", "--", "ls"),
        "attach": ("attach", "{pod}"),
        "port-forward": ("port-forward", "pod/{pod}", "0:80"),
        "cp": ("cp", "{pod}:/etc/passwd", "/dev/null"),
        "debug": ("debug", "{pod}", "--image=x"),
    }
    for name, (verb, *rest) in commands.items():
        absent = server.kubectl("-n", ns, verb, *(word.format(pod="absent") for word in rest), check=False)
        assert absent.code == 1
        assert 'pods "absent" not found' in absent.err, name
        if server.kind == "embedded":
            said = server.kubectl("-n", ns, verb, *(word.format(pod="p") for word in rest), check=False)
            assert "is not possible: pod p is simulated and has no process" in said.err, name
    for place in ("/api/v1/nodes/absent/proxy/logs", f"/api/v1/namespaces/{ns}/services/absent/proxy/a/b"):
        answer = server.http("GET", place)
        assert (answer.status, answer.reason) == (404, "NotFound")
        assert answer.json["details"]["name"] == "absent"
    answer = server.http("GET", f"{path}/p/nothing")
    assert (answer.status, answer.json["details"]) == (404, {})


def test_who_makes_what_has_no_effect_is_told(server: Server, ns: str) -> None:
    selector = {"matchLabels": {"app": "x"}}
    ending = {"template": template("x", restartPolicy="Never")}
    made = {
        "/apis/batch/v1/namespaces/{ns}/cronjobs": {"schedule": "* * * * *", "jobTemplate": {"spec": ending}},
        "/apis/apps/v1/namespaces/{ns}/daemonsets": {"selector": selector, "template": template("x")},
        "/api/v1/namespaces/{ns}/replicationcontrollers": {"selector": {"app": "x"}, "template": template("x")},
        "/api/v1/namespaces/{ns}/resourcequotas": {"hard": {"pods": "1"}},
        "/api/v1/namespaces/{ns}/limitranges": {"limits": []},
        "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies": {"podSelector": {}},
    }
    for path, spec in made.items():
        body = {"metadata": {"name": "idle"}, "spec": spec}
        answer = server.http("POST", path.format(ns=ns), body, query={"dryRun": "All"})
        answer.expect(201)
        assert answer.headers.get("Warning", "").startswith("299 - ") == (server.kind == "embedded"), path
    said = server.kubectl("create", "quota", "one", "-n", ns, "--hard=pods=9", "--dry-run=server")
    assert ("Warning: this server does not enforce ResourceQuotas" in said.err) == (server.kind == "embedded")


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
