"""The OpenAPI documents that clients read: made from the schemas, not written down a second time.

`kubectl apply` looks here for merge keys and for what a server's PATCH accepts, `kubectl explain` for fields.
Types with a name become components that refer to each other; a custom resource's fields have no names and stand
inside its own component.  The documents say what such clients ask for and no more: no descriptions of the built-in
kinds, no answers beyond the objects themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podium.kube.resources import Resource
from podium.schema.builtin import type_named
from podium.schema.model import Schema
from podium.schema.shape import ANY
from podium.schema.structural import to_openapi

Document = dict[str, Any]
Kinds = Iterable[tuple[Resource, Schema]]

_INFO = {"title": "Kubernetes", "version": "v1.36.3"}
_GVK = "x-kubernetes-group-version-kind"
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_CUSTOM_PATCHES = _PATCHES[:3]
# Query parameters by verb.  Clients decide by them what they may ask of a server.
_OF_WRITES = ("dryRun", "fieldManager", "fieldValidation")
_OF_DELETES = ("dryRun", "gracePeriodSeconds", "propagationPolicy")
_OF_LISTS = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "watch",
)
_BOOLEANS = frozenset({"allowWatchBookmarks", "force", "watch"})
_INTEGERS = frozenset({"gracePeriodSeconds", "limit", "timeoutSeconds"})


def group_version_document(kinds: Kinds) -> Document:
    """The document of `/openapi/v3/apis/<group>/<version>` for the kinds of that group and version."""
    components = _Components("#/components/schemas/", older=False)
    paths: Document = {}
    for resource, schema in kinds:
        paths |= _paths(resource, components.root(resource, schema), "v3")
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": components.found}}


def swagger_document(kinds: Kinds) -> Document:
    """The document of `/openapi/v2`: all kinds of all groups in the older format."""
    definitions = _Components("#/definitions/", older=True)
    paths: Document = {}
    for resource, schema in kinds:
        paths |= _paths(resource, definitions.root(resource, schema), "v2")
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": definitions.found}


class _Components:
    """The named types met so far, each written out once."""

    def __init__(self, prefix: str, *, older: bool) -> None:
        self._prefix = prefix
        self._older = older
        self.found: dict[str, Document] = {}

    def root(self, resource: Resource, schema: Schema) -> Document:
        """The reference to a kind's own component."""
        name = schema.name or ".".join((*reversed(resource.group.split(".")), resource.version, resource.kind))
        if not schema.name:
            schema = _with_type_meta(schema)
            if self._older and schema.preserve_unknown:
                schema = Schema(type="object")  # its readers would refuse what is not listed: nothing is
        body = self._body(schema, name)
        gvk = _gvk(resource)
        if gvk not in body.setdefault(_GVK, []):
            body[_GVK].append(gvk)
        return {"$ref": self._prefix + name}

    def _body(self, schema: Schema, name: str) -> Document:
        known = self.found.get(name)
        if known is not None:
            return known
        # Announced before it is written: a type may contain itself.
        body = self.found[name] = {}
        body.update(self._inline(schema))
        return body

    def _inline(self, schema: Schema) -> Document:
        """The schema itself, with references to the named types inside."""
        if self._older:
            schema = _loosened(schema)
        document = to_openapi(msgspec.structs.replace(schema, properties=None, items=None, values=None))
        if schema.format == "micro-time":
            document["format"] = "date-time"
        if not self._older and schema.int_or_string and not (schema.any_of or schema.all_of):
            document["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        if not self._older and schema.embedded:
            schema = _with_type_meta(schema)
            document["required"] = [*document.get("required", ()), "kind", "apiVersion"]
        if schema.properties is not None:
            document["properties"] = {key: self._field(field) for key, field in schema.properties.items()}
        if schema.items is not None:
            document["items"] = self._field(schema.items)
        if schema.values is not None:
            document["additionalProperties"] = self._field(schema.values)
        return document

    def _field(self, schema: Schema) -> Document:
        """What stands in the place of a field: a reference, with what is said about this place only."""
        if schema.if_object is not None:
            schema = ANY  # one of two: OpenAPI's readers are better served with anything
        if not schema.name:
            return self._inline(schema)
        if schema.name not in self.found:
            self._named(schema)
        reference = {"$ref": self._prefix + schema.name}
        own: Document = {}
        if schema.default is not msgspec.UNSET and not self._older:
            own["default"] = schema.default
        if schema.merge_strategy:
            own["x-kubernetes-patch-strategy"] = schema.merge_strategy
        if self._older:
            return {**reference, **own}
        # Here readers ignore what stands beside a $ref, hence the wrapping.
        return {**own, "allOf": [reference]} if own else reference

    def _named(self, schema: Schema) -> None:
        if schema.properties is not None:
            # Without what the first field met says about its own place.
            plain = msgspec.structs.replace(schema, default=msgspec.UNSET, merge_strategy="")
            self._body(plain, schema.name)
        elif schema.format == "quantity":
            self.found[schema.name] = self._either("string", "number")
        elif schema.int_or_string:
            self.found[schema.name] = {"format": "int-or-string", **self._either("integer", "string")}
        else:
            self.found[schema.name] = {"type": "string", "format": "date-time"}

    def _either(self, *types: str) -> Document:
        if self._older:
            return {"type": "string"}  # it cannot say more
        return {"oneOf": [{"type": each} for each in types]}


def _loosened(schema: Schema) -> Schema:
    """What the older format can say of a schema.

    It knows neither alternatives nor null, and its readers refuse a field that is not listed.  kubectl checks
    objects by it before it sends them: where it would be stricter than the server it had better be silent.
    """
    plain = msgspec.structs.replace(
        schema, default=msgspec.UNSET, nullable=False, one_of=(), any_of=(), all_of=(), negated=None
    )
    if not (schema.nullable or schema.preserve_unknown):
        return plain
    return msgspec.structs.replace(
        plain, type="", format="", properties=None, items=None, values=None, required=()
    )


def _with_type_meta(schema: Schema) -> Schema:
    """A custom resource's schema with the fields that every object has."""
    text = Schema(type="string")
    own = {
        key: value
        for key, value in (schema.properties or {}).items()
        if key not in ("apiVersion", "kind", "metadata")
    }
    properties = {"apiVersion": text, "kind": text, "metadata": type_named("meta/ObjectMeta"), **own}
    return msgspec.structs.replace(schema, properties=properties)


def _gvk(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(resource: Resource, reference: Document, version: str) -> Document:
    """The collection's and the object's path with their operations."""
    namespace = "{namespace}" if resource.namespaced else ""
    collection, item = resource.path(namespace), resource.path(namespace, "{name}")
    write = _Operations(resource, reference, version)
    placed = [_parameter("namespace", "path", version)] if resource.namespaced else []
    paths: Document = {
        collection: {
            "get": write.operation("list", _OF_LISTS),
            "post": write.operation("post", _OF_WRITES, body=("*/*",)),
            "delete": write.operation("deletecollection", (*_OF_LISTS, *_OF_DELETES)),
            "parameters": placed,
        },
        item: {
            "get": write.operation("get", ()),
            "put": write.operation("put", _OF_WRITES, body=("*/*",)),
            "patch": write.operation(
                "patch", (*_OF_WRITES, "force"), body=_PATCHES if ".k8s." in reference["$ref"] else _CUSTOM_PATCHES
            ),
            "delete": write.operation("delete", _OF_DELETES),
            "parameters": [_parameter("name", "path", version), *placed],
        },
    }
    if resource.namespaced:
        paths[resource.path()] = {"get": write.operation("list", _OF_LISTS), "parameters": []}
    return paths


class _Operations:
    """Operations of one kind in one of the two formats."""

    def __init__(self, resource: Resource, reference: Document, version: str) -> None:
        self._resource = resource
        self._reference = reference
        self._version = version

    def operation(self, action: str, parameters: Iterable[str], body: tuple[str, ...] = ()) -> Document:
        resource = self._resource
        given = [_parameter(name, "query", self._version) for name in parameters]
        answer: Document = {"description": "OK"}
        document: Document = {
            "tags": [f"{resource.group.partition('.')[0] or 'core'}_{resource.version}"],
            "operationId": f"{action}{resource.kind}",
            "parameters": given,
            "responses": {"200": answer},
            "x-kubernetes-action": action,
            _GVK: _gvk(resource),
        }
        patch = {"type": "object"}
        sent = patch if action == "patch" else self._reference
        gives_object = action in ("get", "post", "put", "patch")
        if self._version == "v2":
            document["consumes"] = list(body) or ["*/*"]
            document["produces"] = ["application/json"]
            if gives_object:
                answer["schema"] = self._reference
            if body:
                given.append({"name": "body", "in": "body", "required": True, "schema": sent})
        else:
            if gives_object:
                answer["content"] = {"application/json": {"schema": self._reference}}
            if body:
                content = {media: {"schema": sent} for media in body}
                document["requestBody"] = {"content": content, "required": True}
        return document


def _parameter(name: str, place: str, version: str) -> Document:
    kind = "boolean" if name in _BOOLEANS else "integer" if name in _INTEGERS else "string"
    document: Document = {"name": name, "in": place}
    if place == "path":
        document["required"] = True
    if version == "v2":
        return {**document, "type": kind, "uniqueItems": True}
    return {**document, "schema": {"type": kind, "uniqueItems": True}}
