"""A CRD's OpenAPI schema: read into the model, complained about, and written back for publication."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from podium.kube import fields
from podium.kube.fields import FieldError
from podium.kube.schema.model import Rule, Schema

Document = dict[str, Any]

# OpenAPI's spelling -> the model's, for everything that is a plain value.
_PLAIN = {
    "type": "type",
    "format": "format",
    "nullable": "nullable",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "description": "description",
    "default": "default",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-merge-key": "merge_key",
    "x-kubernetes-patch-strategy": "merge_strategy",
}
_SCHEMA_LISTS = {"oneOf": "one_of", "anyOf": "any_of", "allOf": "all_of"}
_TYPES = ("object", "array", "string", "integer", "number", "boolean")


def parse(openapi: Document) -> Schema:
    """The model of a (valid) schema."""
    schema = Schema(**{ours: openapi[theirs] for theirs, ours in _PLAIN.items() if theirs in openapi})
    if schema.int_or_string:
        schema.type = "string"
    schema.enum = tuple(openapi.get("enum") or ())
    schema.required = tuple(openapi.get("required") or ())
    schema.list_keys = tuple(openapi.get("x-kubernetes-list-map-keys") or ())
    if "properties" in openapi:
        schema.properties = {key: parse(value) for key, value in openapi["properties"].items()}
    items, additional = openapi.get("items"), openapi.get("additionalProperties")
    if isinstance(items, dict):
        schema.items = parse(items)
    if isinstance(additional, dict):
        schema.values = parse(additional)
    elif additional is True:
        schema.preserve_unknown = True
    for theirs, ours in _SCHEMA_LISTS.items():
        if openapi.get(theirs):
            setattr(schema, ours, tuple(parse(each) for each in openapi[theirs]))
    if isinstance(openapi.get("not"), dict):
        schema.negated = parse(openapi["not"])
    schema.rules = tuple(_rule(each) for each in openapi.get("x-kubernetes-validations") or ())
    children = [*(schema.properties or {}).values(), schema.items, schema.values]
    schema.ruled = bool(schema.rules) or any(child is not None and child.ruled for child in children)
    return schema


def _rule(rule: Document) -> Rule:
    return Rule(
        rule=rule.get("rule", ""),
        message=rule.get("message", ""),
        message_expression=rule.get("messageExpression", ""),
        reason=rule.get("reason") or "FieldValueInvalid",
        field_path=rule.get("fieldPath", ""),
        optional_old_self=bool(rule.get("optionalOldSelf")),
    )


# --- what is wrong with a schema -----------------------------------------------------------------------------


def problems(openapi: Document, path: str) -> list[FieldError]:
    """Why a schema is not structural: every field must have a type, and nothing may depend on anything else."""
    errors: list[FieldError] = []
    if openapi.get("type") != "object":
        detail = "must be object at the root"
        if "type" in openapi:
            errors.append(fields.invalid(f"{path}.type", openapi["type"], detail))
        else:
            errors.append(fields.required(f"{path}.type", "must not be empty at the root"))
    if openapi.get("nullable"):
        errors.append(fields.forbidden(f"{path}.nullable", "must not be true at the root"))
    errors += _problems(openapi, path, root=True)
    return errors


def _problems(openapi: Document, path: str, *, root: bool = False, inside: bool = False) -> Iterator[FieldError]:
    """`inside` one of allOf, anyOf, oneOf or not: there only values may be restricted."""
    kind = openapi.get("type", "")
    int_or_string = openapi.get("x-kubernetes-int-or-string")
    preserve = openapi.get("x-kubernetes-preserve-unknown-fields")
    if kind and kind not in _TYPES:
        yield fields.unsupported(f"{path}.type", kind, _TYPES)
    if inside:
        for forbidden in ("type", "default", "description", "additionalProperties", "nullable"):
            if forbidden in openapi and not (
                forbidden == "type" and int_or_string is None and _is_int_or_string(path)
            ):
                yield fields.forbidden(f"{path}.{forbidden}", "must be undefined to be structural")
    elif not kind and not int_or_string and not preserve and not root:
        yield fields.required(f"{path}.type", "must not be empty for specified object fields")
    for unsupported in ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems"):
        if openapi.get(unsupported):
            yield fields.forbidden(f"{path}.{unsupported}", f"{unsupported} is not supported")
    if openapi.get("uniqueItems"):
        yield fields.forbidden(
            f"{path}.uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if openapi.get("properties") and openapi.get("additionalProperties"):
        yield fields.forbidden(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    if kind == "array" and not isinstance(openapi.get("items"), dict) and not inside:
        yield fields.required(f"{path}.items", "must be specified")
    if "pattern" in openapi:
        yield from _pattern_problems(openapi["pattern"], f"{path}.pattern")
    yield from _list_problems(openapi, path)
    for key, value in (openapi.get("properties") or {}).items():
        yield from _problems(value, f"{path}.properties[{key}]", inside=inside)
    for key in ("items", "additionalProperties"):
        if isinstance(openapi.get(key), dict):
            yield from _problems(openapi[key], f"{path}.{key}", inside=inside)
    for key in _SCHEMA_LISTS:
        for index, each in enumerate(openapi.get(key) or ()):
            if not (int_or_string and key in ("anyOf", "allOf")):
                yield from _problems(each, f"{path}.{key}[{index}]", inside=True)
    if isinstance(openapi.get("not"), dict):
        yield from _problems(openapi["not"], f"{path}.not", inside=True)


def _is_int_or_string(path: str) -> bool:
    """anyOf: [{type: integer}, {type: string}] is the one place where types may be repeated."""
    return ".anyOf[" in path


def _pattern_problems(pattern: Any, path: str) -> Iterator[FieldError]:
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        yield fields.invalid(path, pattern, f"must be a valid regular expression, but isn't: {error}")


def _list_problems(openapi: Document, path: str) -> Iterator[FieldError]:
    kind = openapi.get("x-kubernetes-list-type")
    keys = openapi.get("x-kubernetes-list-map-keys")
    if kind not in (None, "atomic", "set", "map"):
        yield fields.unsupported(f"{path}.x-kubernetes-list-type", kind, ("atomic", "set", "map"))
    if kind == "map" and not keys:
        yield fields.required(
            f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"
        )
    if keys and kind != "map":
        yield fields.forbidden(
            f"{path}.x-kubernetes-list-map-keys", "must be undefined if x-kubernetes-list-type is not map"
        )


# --- back to OpenAPI -----------------------------------------------------------------------------------------


def to_openapi(schema: Schema) -> Document:
    """A schema as it is published.  Types that have a name are not expanded here: see `schema.openapi`."""
    document: Document = {}
    for theirs, ours in _PLAIN.items():
        value = getattr(schema, ours)
        if value is not msgspec.UNSET and value is not None and value is not False and value != "":
            document[theirs] = value
    if schema.int_or_string:
        document.pop("type", None)
    for theirs, values in (
        ("enum", schema.enum),
        ("required", schema.required),
        ("x-kubernetes-list-map-keys", schema.list_keys),
    ):
        if values:
            document[theirs] = list(values)
    if schema.properties is not None:
        document["properties"] = {key: to_openapi(value) for key, value in schema.properties.items()}
    if schema.items is not None:
        document["items"] = to_openapi(schema.items)
    if schema.values is not None:
        document["additionalProperties"] = to_openapi(schema.values)
    for theirs, ours in _SCHEMA_LISTS.items():
        if getattr(schema, ours):
            document[theirs] = [to_openapi(each) for each in getattr(schema, ours)]
    if schema.negated is not None:
        document["not"] = to_openapi(schema.negated)
    return document
