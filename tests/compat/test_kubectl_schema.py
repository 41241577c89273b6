"""What kubectl does with the server's OpenAPI documents: it checks lists itself, and it explains fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.compat.client import Document, Server, eventually
from tests.compat.objects import configmap, crd, deployment

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def listed(*items: Document) -> Document:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def gadget(**spec: object) -> Document:
    return {"apiVersion": "schema.example/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec}


@pytest.fixture
def gadgets(server: Server) -> Iterator[None]:
    """A kind whose fields say more than the older OpenAPI format can."""
    free = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"a": {"type": "string"}},
    }
    fields = {
        "size": {"type": "integer", "default": 3, "description": "How large it is."},
        "port": {"x-kubernetes-int-or-string": True},
        "free": free,
        "maybe": {"type": "string", "nullable": True},
    }
    spec = {"type": "object", "properties": fields}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.schema.example"},
        "spec": {
            "group": "schema.example",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }
    server.kubectl("apply", "-f", "-", input=definition)
    server.established("crd/gadgets.schema.example")
    # A real server publishes the documents a little later.
    eventually(lambda: "v1.Gadget" in server.kubectl("get", "--raw", "/openapi/v2").out, "gadgets in OpenAPI")
    yield
    server.kubectl("delete", "crd", "gadgets.schema.example")


def test_the_items_of_a_list_are_checked(server: Server, ns: str) -> None:
    typo = deployment("d")
    typo["spec"]["replcas"] = 2
    typo["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": "http"}]
    refused = server.kubectl("apply", "-n", ns, "-f", "-", input=listed(configmap("c"), typo), check=False)
    assert refused.code == 1
    field = 'ValidationError(Deployment.spec): unknown field "replcas" in io.k8s.api.apps.v1.DeploymentSpec'
    assert field in refused.err
    assert 'io.k8s.api.core.v1.ContainerPort.containerPort: got "string", expected "integer"' in refused.err
    assert server.kubectl("get", "cm", "-n", ns, "c", "--ignore-not-found").out == ""


def test_an_unknown_kind_in_a_list(server: Server, ns: str) -> None:
    unknown = {"apiVersion": "nope.example/v1", "kind": "Nope", "metadata": {"name": "x"}}
    refused = server.kubectl("apply", "-n", ns, "-f", "-", input=listed(unknown), check=False)
    assert 'no matches for kind "Nope" in version "nope.example/v1"' in refused.err


@pytest.mark.usefixtures("gadgets")
def test_custom_resources_in_a_list(server: Server, ns: str) -> None:
    loose = gadget(port="http", free={"a": 1, "b": 2}, maybe=None)
    out = server.kubectl(
        "create", "-n", ns, "-f", "-", input=listed(gadget(port=80, free={"b": 2}, maybe=None))
    ).out
    assert out == "gadget.schema.example/g created\n"
    # What only the server can judge is left to it: kubectl itself finds nothing wrong with this one.
    refused = server.kubectl("apply", "-n", ns, "-f", "-", input=listed(loose), check=False)
    assert "spec.free.a" in refused.err
    assert "ValidationError" not in refused.err
    refused = server.kubectl("apply", "-n", ns, "-f", "-", input=listed(gadget(size="x", color=1)), check=False)
    assert 'ValidationError(Gadget.spec): unknown field "color" in example.schema.v1.Gadget.spec' in refused.err
    assert 'example.schema.v1.Gadget.spec.size: got "string", expected "integer"' in refused.err


@pytest.mark.usefixtures("gadgets")
def test_explain(server: Server) -> None:
    eventually(
        lambda: "How large it is." in server.kubectl("explain", "gadget.spec.size", check=False).out,
        "the definition is published",
    )
    strategy = server.kubectl("explain", "deployments.spec.strategy").out
    assert "FIELD: strategy <DeploymentStrategy>" in strategy
    assert re.search(r"^  rollingUpdate\t<RollingUpdateDeployment>", strategy, re.MULTILINE)
    ports = server.kubectl("explain", "pods.spec.containers.ports", "--recursive").out
    assert re.search(r"^  containerPort\t<integer> -required-", ports, re.MULTILINE)
    older = server.kubectl("explain", "pods.spec", "--output=plaintext-openapiv2").out
    assert re.search(r"^   containers\t<\[\]Object> -required-", older, re.MULTILINE)


@pytest.mark.parametrize("accept", ["application/json", PROTOBUF, f"{PROTOBUF},application/json"])
def test_the_older_document_in_both_forms(server: Server, accept: str) -> None:
    answer = server.http("GET", "/openapi/v2", headers={"Accept": accept})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == accept.split(",")[0].replace("@", ".")
    assert answer.body.startswith(b"\x0a\x032.0" if "protobuf" in accept else b'{"swagger":"2.0"')


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3/apis/apps/v1", "/apis"])
def test_kept_documents_are_asked_for_by_their_tags(server: Server, path: str) -> None:
    accept = "application/json"
    if path == "/apis":
        accept += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    first = server.http("GET", path, headers={"Accept": accept})
    tag = {key.lower(): value for key, value in first.headers.items()}["etag"]
    again = server.http("GET", path, headers={"Accept": accept, "If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    other = server.http("GET", path, headers={"Accept": accept, "If-None-Match": '"other"'})
    assert (other.status, other.body) == (200, first.body)


def test_nothing_else_is_served(server: Server) -> None:
    assert server.http("GET", "/openapi/v2", headers={"Accept": "text/html"}).status == 406


def test_schemas_of_custom_resources_are_published(server: Server, ns: str) -> None:
    """In both documents, as the definition has them; what it keeps without knowing it is not described."""
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    nested = {"type": "object", "properties": {"spec": {**open_object, "properties": {"a": {"type": "string"}}}}}
    either = {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": True}}}
    whole = {**open_object, "x-kubernetes-embedded-resource": True}
    embedded = {"type": "object", "properties": {"object": whole}}
    schemas = {"opens": open_object, "nesteds": nested, "eithers": either, "embeddeds": embedded}
    group = f"{ns}.example.com"
    made = [crd(plural, plural.capitalize(), {}, group=group) for plural in schemas]
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    try:
        for definition, schema in zip(made, schemas.values(), strict=True):
            definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
            server.create(definitions, definition)

        def published(path: str, part: str) -> Document | None:
            answer = server.http("GET", path)
            found = answer.json if answer.status == 200 else {}
            for step in part.split("/"):
                found = found.get(step, {})
            names = {plural: f"com.example.{ns}.v1.{plural.capitalize()}" for plural in schemas}
            kinds = {plural: found[name] for plural, name in names.items() if name in found}
            return kinds if len(kinds) == len(schemas) else None

        def own(kind: Document) -> Document:
            """Without what every object has."""
            kept = {key: value for key, value in kind.items() if key != "x-kubernetes-group-version-kind"}
            known = kept.pop("properties", {})
            fields = {key: known[key] for key in known.keys() - {"apiVersion", "kind", "metadata"}}
            return {**kept, "properties": fields} if fields else kept

        older = eventually(lambda: published("/openapi/v2", "definitions"), "all are in the older document")
        assert own(older["opens"]) == {"type": "object"}
        assert "properties" not in older["opens"]
        assert own(older["nesteds"]) == {
            "type": "object",
            "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}},
        }
        newer = eventually(
            lambda: published(f"/openapi/v3/apis/{group}/v1", "components/schemas"), "all are in the newer one"
        )
        assert own(newer["opens"]) == open_object
        assert own(newer["nesteds"]) == nested
        port = newer["eithers"]["properties"]["port"]
        assert port == {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
        inner = newer["embeddeds"]["properties"]["object"]
        assert inner["required"] == ["kind", "apiVersion"]
        assert inner["properties"].keys() == {"apiVersion", "kind", "metadata"}
        explained = server.kubectl("explain", f"opens.{group}").out
        assert re.search(r"DESCRIPTION:\n\s+<empty>", explained)
    finally:
        for definition in made:
            server.http("DELETE", f"{definitions}/{definition['metadata']['name']}")
