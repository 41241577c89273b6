"""A CRD's OpenAPI schema: read into the model, and written back for publication.

Reading trusts what it reads: whether it is a schema at all, `structural.problems` checks.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.schema.model import Rule, Schema

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


def parse(openapi: Document) -> Schema:
    """The model of a (valid) schema."""
    # By what is given: a node says two or three things of the many that it could.
    given = {_PLAIN[key]: value for key, value in openapi.items() if key in _PLAIN and value is not None}
    schema = Schema(**given)
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
    if schema.rules:
        document["x-kubernetes-validations"] = [_rule_document(rule) for rule in schema.rules]
    return document


def _rule_document(rule: Rule) -> Document:
    document: Document = {"rule": rule.rule}
    for theirs, value in (
        ("message", rule.message),
        ("messageExpression", rule.message_expression),
        ("reason", "" if rule.reason == "FieldValueInvalid" else rule.reason),
        ("fieldPath", rule.field_path),
        ("optionalOldSelf", rule.optional_old_self),
    ):
        if value:
            document[theirs] = value
    return document
