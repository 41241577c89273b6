"""The schemas as OpenAPI documents: what `kubectl apply` and `kubectl explain` read.

One document a group version in OpenAPI 3, and one of everything in OpenAPI 2.  Types with a name stand once among the
components and are referred to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.kube.resources import Resource
from podium.kube.schema.model import Schema
from podium.kube.schema.structural import to_openapi

Document = dict[str, Any]
Pairs = Iterable[tuple[Resource, Schema]]

_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
# Parameters whose presence tells a client that the server can do more than the oldest ones.
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")


def group_version_document(pairs: Pairs) -> Document:
    """OpenAPI 3 of one group version."""
    writer = _Writer("#/components/schemas/")
    paths: Document = {}
    for resource, schema in pairs:
        root = writer.root(resource, schema)
        paths |= _paths(resource, {"application/json": {"schema": root}})
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": paths,
        "components": {"schemas": writer.types},
    }


def swagger_document(pairs: Pairs) -> Document:
    """OpenAPI 2 of everything."""
    writer = _Writer("#/definitions/")
    paths: Document = {}
    for resource, schema in pairs:
        writer.root(resource, schema)
        paths |= _paths(resource, None)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": paths,
        "definitions": writer.types,
    }


def _paths(resource: Resource, content: Document | None) -> Document:
    """The collection's and the object's operations, as far as clients look at them."""
    mark = _kind_mark(resource)
    parameters = [_parameter(name, content is not None) for name in _WRITE_PARAMETERS]

    def operation(verb: str, writes: bool = True) -> Document:
        made: Document = {
            "x-kubernetes-action": verb,
            "x-kubernetes-group-version-kind": mark,
            "parameters": parameters if writes else [],
            "responses": {"200": {"description": "OK", **({"content": content} if content else {})}},
        }
        if verb == "patch" and content is not None:
            made["requestBody"] = {"content": {media: {"schema": {"type": "object"}} for media in _PATCHES}}
        elif verb == "patch":
            made["consumes"] = list(_PATCHES)
        return made

    collection = resource.path("{namespace}" if resource.namespaced else "")
    return {
        collection: {"get": operation("list", writes=False), "post": operation("post")},
        f"{collection}/{{name}}": {
            "get": operation("get", writes=False),
            "put": operation("put"),
            "patch": operation("patch"),
            "delete": operation("delete"),
        },
    }


def _parameter(name: str, three: bool) -> Document:
    described: Document = {"name": name, "in": "query"}
    return {**described, "schema": {"type": "string"}} if three else {**described, "type": "string"}


def _kind_mark(resource: Resource) -> Document:
    return {"group": resource.group, "kind": resource.kind, "version": resource.version}


class _Writer:
    """Collects named types while schemas are written down."""

    def __init__(self, prefix: str) -> None:
        self.types: Document = {}
        self._prefix = prefix

    def root(self, resource: Resource, schema: Schema) -> Document:
        """A kind's own type, which says of which kind it is."""
        name = schema.name or f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"
        if name not in self.types:
            self.types[name] = {}
            self.types[name] = self._written(schema)
        marks = self.types[name].setdefault("x-kubernetes-group-version-kind", [])
        if _kind_mark(resource) not in marks:
            marks.append(_kind_mark(resource))
        return {"$ref": self._prefix + name}

    def _reference(self, schema: Schema) -> Document:
        """A named type by reference, anything else in place."""
        if not schema.name:
            return self._written(schema)
        if schema.name not in self.types:
            self.types[schema.name] = {}  # first, because a type may refer to itself
            self.types[schema.name] = self._written(schema)
        return {"$ref": self._prefix + schema.name}

    def _written(self, schema: Schema) -> Document:
        shallow = Schema(**{**_fields(schema), "properties": None, "items": None, "values": None})
        document = to_openapi(shallow)
        if schema.properties is not None:
            document["properties"] = {key: self._reference(value) for key, value in schema.properties.items()}
        if schema.items is not None:
            document["items"] = self._reference(schema.items)
        if schema.values is not None:
            document["additionalProperties"] = self._reference(schema.values)
        return document


def _fields(schema: Schema) -> Document:
    return {name: getattr(schema, name) for name in schema.__struct_fields__}
