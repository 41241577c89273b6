"""Whether a CRD's schema is one that a server can work from: a structural schema.

Such a schema says the type of everything there is, in one place: `properties`, `items` and
`additionalProperties` build the tree, and what stands under allOf, anyOf, oneOf and not may only restrict values.
Defaults must be valid, patterns and rules must compile, and the keys of a keyed list must be there and plain.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import re2

from podium.kube import fields
from podium.kube.fields import FieldError
from podium.schema import engine
from podium.schema.codec import parse, to_openapi
from podium.schema.model import Rule, Schema
from podium.schema.roots import is_sound, note_sound, root_schema
from podium.schema.values import compiled_pattern, validate

__all__ = ["parse", "problems", "to_openapi"]

Document = dict[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "$schema")
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
# What says what a thing is, as opposed to which values it may have.
_ONLY_IN_THE_TREE = {
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "title": "must be empty to be structural",
    "type": "must be empty to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}


def problems(openapi: Document, path: str) -> list[FieldError]:
    """Everything for which a server would refuse the schema; `path` is that of the schema in its definition."""
    if is_sound(openapi):
        return []
    errors = list(_root_problems(openapi, path))
    errors += _tree_problems(openapi, path, "")
    if errors:
        # What follows needs the schema read, and that is only safe for one that is well formed.
        return errors
    schema = root_schema(openapi)
    errors += _default_problems(openapi, schema, path)
    errors += _rule_problems(openapi, schema, path, "")
    if not errors:
        note_sound(openapi)
    return errors


def _root_problems(openapi: Document, path: str) -> Iterator[FieldError]:
    if not openapi.get("type"):
        yield fields.required(f"{path}.type", "must not be empty at the root")
    elif openapi["type"] != "object":
        yield fields.invalid(f"{path}.type", openapi["type"], "must be object at the root")
    if openapi.get("nullable"):
        yield fields.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    members = _dict(openapi.get("properties"))
    for key in ("apiVersion", "kind"):
        kind = _dict(members.get(key)).get("type")
        if kind not in (None, "string"):
            yield fields.invalid(f"{path}.properties[{key}].type", kind, "must be string")
    metadata, here = _dict(members.get("metadata")), f"{path}.properties[metadata]"
    if metadata.get("type") not in (None, "object"):
        yield fields.invalid(f"{here}.type", metadata["type"], "must be object")
    if "default" in metadata:
        yield fields.forbidden(f"{here}.default", "must not be set in top-level metadata")
    inner = _dict(metadata.get("properties"))
    if set(inner) - {"name", "generateName"}:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield fields.forbidden(here, detail)
    for key, member in inner.items():
        if "default" in _dict(member):
            yield fields.forbidden(f"{here}.properties[{key}].default", "must not be set in top-level metadata")


# --- the tree ----------------------------------------------------------------------------------------------


def _tree_problems(openapi: Any, path: str, place: str) -> Iterator[FieldError]:
    """`place` is how the parent refers to this node, empty at the root."""
    if not isinstance(openapi, dict):
        yield fields.wrong_type(path, openapi, "must be a schema object")
        return
    kind = openapi.get("type")
    free = openapi.get("x-kubernetes-int-or-string") or openapi.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not free and place and not openapi.get("$ref"):
        yield fields.required(f"{path}.type", f"must not be empty for specified {place}")
    if kind and kind not in _TYPES:
        yield fields.unsupported(f"{path}.type", kind, _TYPES)
    if kind == "array" and not isinstance(openapi.get("items"), dict | list):
        yield fields.required(f"{path}.items", "must be specified")
    yield from _extension_problems(openapi, path)
    yield from _common_problems(openapi, path)
    for key, member in _dict(openapi.get("properties")).items():
        yield from _tree_problems(member, f"{path}.properties[{key}]", "object fields")
    if isinstance(openapi.get("items"), dict):
        yield from _tree_problems(openapi["items"], f"{path}.items", "array items")
    if isinstance(openapi.get("additionalProperties"), dict):
        yield from _tree_problems(openapi["additionalProperties"], f"{path}.additionalProperties", "object fields")
    for each, here in _alternatives(openapi, path):
        # These two are the one way to say int-or-string outside of its extension.
        mixed = openapi.get("x-kubernetes-int-or-string") and each in ({"type": "integer"}, {"type": "string"})
        if not mixed:
            yield from _restriction_problems(each, here)


def _restriction_problems(openapi: Any, path: str) -> Iterator[FieldError]:
    """What is wrong with a schema that may only restrict values."""
    if not isinstance(openapi, dict):
        yield fields.wrong_type(path, openapi, "must be a schema object")
        return
    for key, detail in _ONLY_IN_THE_TREE.items():
        if openapi.get(key):
            yield fields.forbidden(f"{path}.{key}", detail)
    yield from _common_problems(openapi, path)
    for key, member in _dict(openapi.get("properties")).items():
        yield from _restriction_problems(member, f"{path}.properties[{key}]")
    if isinstance(openapi.get("items"), dict):
        yield from _restriction_problems(openapi["items"], f"{path}.items")
    for each, here in _alternatives(openapi, path):
        yield from _restriction_problems(each, here)


def _alternatives(openapi: Document, path: str) -> Iterator[tuple[Any, str]]:
    for key in _ALTERNATIVES:
        for index, each in enumerate(openapi.get(key) or ()):
            yield each, f"{path}.{key}[{index}]"
    if "not" in openapi and openapi["not"] is not None:
        yield openapi["not"], f"{path}.not"


def _common_problems(openapi: Document, path: str) -> Iterator[FieldError]:
    for key in _UNSUPPORTED:
        if openapi.get(key):
            yield fields.forbidden(f"{path}.{key}", f"{key} is not supported")
    if openapi.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield fields.forbidden(f"{path}.uniqueItems", detail)
    if isinstance(openapi.get("items"), list):
        yield fields.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if openapi.get("properties") and openapi.get("additionalProperties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield fields.forbidden(f"{path}.additionalProperties", detail)
    pattern = openapi.get("pattern")
    if pattern:
        try:
            compiled_pattern(pattern)
        except re2.error as error:
            reported = error.args[0].decode() if isinstance(error.args[0], bytes) else error
            detail = f"must be a valid regular expression, but isn't: error parsing regexp: {reported}"
            yield fields.invalid(f"{path}.pattern", pattern, detail)


def _extension_problems(openapi: Document, path: str) -> Iterator[FieldError]:
    kind = openapi.get("type")
    preserve = openapi.get("x-kubernetes-preserve-unknown-fields")
    if preserve is False:
        yield fields.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    if openapi.get("x-kubernetes-embedded-resource"):
        rule = "if x-kubernetes-embedded-resource is true"
        if not openapi.get("properties") and not preserve:
            detail = f"must not be empty {rule} without x-kubernetes-preserve-unknown-fields"
            yield fields.required(f"{path}.properties", detail)
        if kind != "object":
            yield fields.invalid(f"{path}.type", kind or "", f"must be object {rule}")
    map_type = openapi.get("x-kubernetes-map-type")
    if map_type is not None:
        if map_type not in ("atomic", "granular"):
            yield fields.unsupported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
        if kind != "object":
            detail = "must be object if x-kubernetes-map-type is specified"
            yield fields.invalid(f"{path}.type", kind or "", detail)
    yield from _list_problems(openapi, path)


def _list_problems(openapi: Document, path: str) -> Iterator[FieldError]:
    list_type, keys = openapi.get("x-kubernetes-list-type"), openapi.get("x-kubernetes-list-map-keys") or []
    items = _dict(openapi.get("items"))
    if list_type is not None:
        if list_type not in ("atomic", "set", "map"):
            known = '"atomic", "set", "map"'
            detail = f"Unsupported value: {fields.show(list_type)}: supported values: {known}"
            yield FieldError(f"{path}.x-kubernetes-list-type", "FieldValueNotSupported", detail)
        if openapi.get("type") != "array":
            detail = "must be array if x-kubernetes-list-type is specified"
            yield fields.invalid(f"{path}.type", openapi.get("type") or "", detail)
    if keys and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield fields.required(f"{path}.x-kubernetes-list-type", detail)
    if list_type == "set" and items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        yield fields.invalid(f"{path}.items.x-kubernetes-map-type", items.get("x-kubernetes-map-type"), detail)
    if list_type == "map":
        yield from _key_problems(items, keys, path)


def _key_problems(items: Document, keys: list[Any], path: str) -> Iterator[FieldError]:
    here = f"{path}.x-kubernetes-list-map-keys"
    rule = "if parent array's x-kubernetes-list-type is map"
    if not keys:
        yield fields.required(here, "must not be empty if x-kubernetes-list-type is map")
    if items.get("type") != "object":
        yield fields.invalid(f"{path}.items.type", items.get("type") or "", f"must be object {rule}")
        return
    members = _dict(items.get("properties"))
    if any(key not in members for key in keys):
        yield fields.invalid(here, keys, "entries must all be names of item properties")
    if len(set(keys)) < len(keys):
        yield fields.invalid(here, keys, "must not contain duplicate entries")
    for key in sorted(set(keys) & set(members)):
        member, at = _dict(members[key]), f"{path}.items.properties[{key}]"
        if member.get("type") in ("object", "array"):
            yield fields.invalid(f"{at}.type", member["type"], f"must be a scalar type {rule}")
        if key not in (items.get("required") or ()) and member.get("default") is None:
            detail = (
                "this property is in x-kubernetes-list-map-keys, "
                "so it must have a default or be a required property"
            )
            yield fields.required(f"{at}.default", detail)


# --- defaults and rules ------------------------------------------------------------------------------------


def _branches(openapi: Document, schema: Schema, path: str) -> Iterator[tuple[Document, Schema, str]]:
    """The nodes right below, as they are written and as they are read."""
    for key, member in _dict(openapi.get("properties")).items():
        if schema.properties is not None:
            yield member, schema.properties[key], f"{path}.properties[{key}]"
    if schema.items is not None:
        yield openapi["items"], schema.items, f"{path}.items"
    if schema.values is not None:
        yield openapi["additionalProperties"], schema.values, f"{path}.additionalProperties"


def _default_problems(openapi: Document, schema: Schema, path: str) -> Iterator[FieldError]:
    default = openapi.get("default")
    if default is not None:
        here = f"{path}.default"
        if engine.unknown_fields(default, schema, resource=schema.embedded):
            yield fields.invalid(here, default, "must not have unknown fields")
        else:
            filled = copy.deepcopy(default)
            engine.apply_defaults(filled, schema)
            for error in validate(filled, schema):
                at = here if error.path in ("", "<nil>") else f"{here}.{error.path}"
                yield FieldError(at, error.reason, error.detail)
    for below in _branches(openapi, schema, path):
        yield from _default_problems(*below)


def _rule_problems(openapi: Document, schema: Schema, path: str, unmatched: str) -> Iterator[FieldError]:
    """`unmatched` is the list in which items cannot be distinguished, so that nothing below has an old value."""
    if not schema.ruled:
        return
    # Expressions are rare, and the library behind them takes long to import.
    from podium.schema import cel

    written = openapi.get("x-kubernetes-validations") or ()
    for index, (rule, given) in enumerate(zip(schema.rules, written, strict=True)):
        here = f"{path}.x-kubernetes-validations[{index}]"
        yield from _wording_problems(rule, given, schema, here)
        yield from cel.rule_problems(rule, schema, here)
        if unmatched and cel.mentions_old(rule.rule):
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {unmatched}"
            yield fields.invalid(f"{here}.rule", rule.rule, detail)
    for member, inner, below in _branches(openapi, schema, path):
        loose = inner is schema.items and schema.list_type != "map"
        yield from _rule_problems(member, inner, below, unmatched or (path if loose else ""))


def _wording_problems(rule: Rule, given: Document, schema: Schema, path: str) -> Iterator[FieldError]:
    if given.get("message") and not rule.message.strip():
        yield fields.invalid(f"{path}.message", rule.message, "must be non-empty if specified")
    elif "\n" in rule.message.strip():
        yield fields.invalid(f"{path}.message", rule.message, "must not contain line breaks")
    elif "\n" in rule.rule.strip() and not rule.message.strip():
        yield fields.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.reason not in _REASONS:
        yield fields.unsupported(f"{path}.reason", rule.reason, _REASONS)
    if rule.field_path and not _is_field(rule.field_path, schema):
        yield fields.invalid(f"{path}.fieldPath", rule.field_path, "must be a valid path")


def _is_field(path: str, schema: Schema) -> bool:
    """Whether `.a.b['c']` leads to a field that the schema knows."""
    if not path.startswith((".", "['")):
        return False
    node: Schema | None = schema
    for step in path.replace("['", ".").replace("']", "").split(".")[1:]:
        node = None if node is None else (node.properties or {}).get(step, node.values)
    return node is not None


def _dict(value: Any) -> Document:
    return value if isinstance(value, dict) else {}
