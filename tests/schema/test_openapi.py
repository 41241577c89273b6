"""The OpenAPI documents: complete references, and what kubectl looks for in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema import structural
from podium.schema.builtin import schema_of
from podium.schema.model import Schema
from podium.schema.openapi import group_version_document, swagger_document

Document = dict[str, Any]

KINDS = [value for value in vars(r).values() if isinstance(value, Resource)]
FOO = Resource("example.com", "v1", "foos", "Foo")


def foo() -> Schema:
    return structural.parse(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "required": ["size"],
                    "properties": {"size": {"type": "integer", "minimum": 1, "default": 3}},
                }
            },
        }
    )


def pairs(kinds: list[Resource]) -> list[tuple[Resource, Schema]]:
    return [(kind, schema_of(kind)) for kind in kinds]


def of_group(group: str) -> Document:
    return group_version_document(pairs([kind for kind in KINDS if kind.group == group]))


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


@pytest.mark.parametrize("group", sorted({kind.group for kind in KINDS}))
def test_every_reference_leads_somewhere(group: str) -> None:
    document = of_group(group)
    known = document["components"]["schemas"]
    assert {reference.removeprefix("#/components/schemas/") for reference in references(document)} <= set(known)
    assert msgspec.json.decode(msgspec.json.encode(document)) == document


def test_every_reference_of_the_older_format_leads_somewhere() -> None:
    document = swagger_document([*pairs(KINDS), (FOO, foo())])
    known = document["definitions"]
    assert {reference.removeprefix("#/definitions/") for reference in references(document)} <= set(known)
    assert known["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {
        "type": "string",
        "format": "int-or-string",
    }
    assert "oneOf" not in known["io.k8s.apimachinery.pkg.api.resource.Quantity"]


def test_a_kind_is_found_by_its_group_version_kind() -> None:
    schemas = of_group("apps")["components"]["schemas"]
    assert schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "version": "v1", "kind": "Deployment"}
    ]
    assert "x-kubernetes-group-version-kind" not in schemas["io.k8s.api.apps.v1.DeploymentSpec"]


def test_merge_keys_stand_at_the_fields() -> None:
    schemas = of_group("apps")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}
    strategy = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]
    assert strategy["x-kubernetes-patch-strategy"] == "retainKeys"
    assert strategy["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}]
    assert "x-kubernetes-patch-strategy" not in schemas["io.k8s.api.apps.v1.DeploymentStrategy"]


def test_patch_tells_what_it_takes() -> None:
    paths = of_group("apps")["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldValidation", "fieldManager"} <= {each["name"] for each in patch["parameters"]}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert "/apis/apps/v1/deployments" in paths


def test_cluster_scoped_kinds_have_no_namespace_in_their_path() -> None:
    paths = of_group("")["paths"]
    assert "/api/v1/nodes/{name}" in paths
    assert "/api/v1/namespaces/{namespace}/pods" in paths
    assert not any("namespaces/{namespace}/nodes" in path for path in paths)


def test_custom_resources_stand_beside_the_built_in_kinds() -> None:
    document = group_version_document([(FOO, foo())])
    body = document["components"]["schemas"]["com.example.v1.Foo"]
    assert body["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Foo"}]
    assert list(body["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert body["properties"]["metadata"]["$ref"].endswith(".ObjectMeta")
    assert body["properties"]["spec"]["properties"]["size"] == {"type": "integer", "minimum": 1, "default": 3}
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/foos/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert "application/merge-patch+json" in patch["requestBody"]["content"]


def test_a_type_that_contains_itself_is_written_once() -> None:
    schemas = of_group("apiextensions.k8s.io")["components"]["schemas"]
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert schemas[name]["properties"]["not"] == {"$ref": f"#/components/schemas/{name}"}


def test_the_scalars_with_a_name() -> None:
    schemas = of_group("")["components"]["schemas"]
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.Time"] == {"type": "string", "format": "date-time"}
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"] == {"type": "string", "format": "date-time"}
    assert schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"] == {
        "oneOf": [{"type": "string"}, {"type": "number"}]
    }
