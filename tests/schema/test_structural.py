"""Schemas of CRDs: what is refused and how, and the way into the model and back."""

from __future__ import annotations

from typing import Any

import pytest

from podium.schema.structural import parse, problems, to_openapi

TEXT = {"type": "string"}


def reported(field: dict[str, Any]) -> str:
    """What is wrong with a schema that has this one field; its path is cut off."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": field}}}}
    found = problems(schema, "$")
    return "; ".join(str(each).replace("$.properties[spec].properties[a]", "a") for each in found)


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listed(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **{f"x-kubernetes-list-{key}": value for key, value in more.items()}}


def keyed(items: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {**listed(items, type="map"), "x-kubernetes-list-map-keys": list(keys)}


NEEDED = {**objects(b=TEXT), "required": ["b"]}


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ({}, "a.type: Required value: must not be empty for specified object fields"),
        (
            {"type": "foo"},
            'a.type: Unsupported value: "foo": supported values: '
            '"array", "boolean", "integer", "number", "object", "string"',
        ),
        ({"type": "array"}, "a.items: Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            "a.items.type: Required value: must not be empty for specified array items",
        ),
        (
            {"type": "array", "items": [TEXT]},
            "a.items: Forbidden: items must be a schema object and not an array",
        ),
        (
            {**listed(TEXT), "uniqueItems": True},
            "a.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes "
            "quadratic",
        ),
        (
            {**objects(x=TEXT), "additionalProperties": TEXT},
            "a.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"type": "object", "additionalProperties": {}},
            "a.additionalProperties.type: Required value: must not be empty for specified object fields",
        ),
        ({"$ref": "#/x"}, "a.$ref: Forbidden: $ref is not supported"),
        ({**TEXT, "definitions": {"x": TEXT}}, "a.definitions: Forbidden: definitions is not supported"),
        (
            {"type": "object", "patternProperties": {"x": TEXT}},
            "a.patternProperties: Forbidden: patternProperties is not supported",
        ),
        (
            {"type": "object", "dependencies": {"x": ["y"]}},
            "a.dependencies: Forbidden: dependencies is not supported",
        ),
        (
            {"type": "integer", "default": "x"},
            'a.default: Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            {**objects(b=TEXT), "default": {"z": 1}},
            'a.default: Invalid value: {"z":1}: must not have unknown fields',
        ),
        (
            {**TEXT, "enum": ["A"], "default": "B"},
            'a.default: Unsupported value: "B": supported values: "A"',
        ),
        (
            {**objects(b={"type": "integer"}), "default": {"b": "x"}},
            'a.default.b: Invalid value: "string": b in body must be of type integer: "string"',
        ),
        (
            {**objects(z=TEXT), "oneOf": [{"properties": {"z": TEXT}}]},
            "a.oneOf[0].properties[z].type: Forbidden: must be empty to be structural",
        ),
        (
            {**objects(z=TEXT), "oneOf": [{"properties": {"z": {"default": "y", "nullable": True}}}]},
            "a.oneOf[0].properties[z].default: Forbidden: must be undefined to be structural; "
            "a.oneOf[0].properties[z].nullable: Forbidden: must be false to be structural",
        ),
        (
            {**objects(z=TEXT), "not": {"additionalProperties": TEXT}},
            "a.not.additionalProperties: Forbidden: must be undefined to be structural",
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            "a.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields",
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            "a.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            listed(TEXT, type="foo"),
            'a.x-kubernetes-list-type: Unsupported value: "foo": supported values: "atomic", "set", "map"',
        ),
        (
            {**TEXT, "x-kubernetes-list-type": "set"},
            'a.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
        ),
        (
            listed(objects(b=TEXT), type="set"),
            "a.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
            "x-kubernetes-list-type=set",
        ),
        (
            keyed(objects(b=TEXT)),
            "a.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            keyed(objects(b=TEXT), "c"),
            'a.x-kubernetes-list-map-keys: Invalid value: ["c"]: entries must all be names of item properties',
        ),
        (
            keyed(objects(b=TEXT), "b"),
            "a.items.properties[b].default: Required value: this property is in x-kubernetes-list-map-keys, "
            "so it must have a default or be a required property",
        ),
        (
            keyed(NEEDED, "b", "b"),
            'a.x-kubernetes-list-map-keys: Invalid value: ["b","b"]: must not contain duplicate entries',
        ),
        (
            {**listed(TEXT), "x-kubernetes-list-map-keys": ["b"]},
            "a.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ),
        (
            keyed(TEXT, "b"),
            'a.items.type: Invalid value: "string": must be object if parent array\'s '
            "x-kubernetes-list-type is map",
        ),
        (
            keyed({**objects(b=objects(c=TEXT)), "required": ["b"]}, "b"),
            'a.items.properties[b].type: Invalid value: "object": must be a scalar type if parent array\'s '
            "x-kubernetes-list-type is map",
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "foo"},
            'a.x-kubernetes-map-type: Unsupported value: "foo": supported values: "atomic", "granular"',
        ),
        (
            {**TEXT, "x-kubernetes-map-type": "atomic"},
            'a.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
        ),
        ("x", 'a: Invalid value: "x": must be a schema object'),
    ],
)
def test_schemas_that_are_refused(field: Any, sentence: str) -> None:
    assert reported(field) == sentence


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "a**"])
def test_patterns_must_compile(pattern: str) -> None:
    assert "must be a valid regular expression, but isn't: error parsing regexp: " in reported(
        {**TEXT, "pattern": pattern}
    )


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object", "additionalProperties": False},
        {"type": "object", "additionalProperties": True},
        {**TEXT, "default": None},
        {**TEXT, "nullable": True, "default": None},
        {"x-kubernetes-int-or-string": True, "type": "string"},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "object", "oneOf": [{"properties": {"z": {"required": ["q"]}}}]},
        {**TEXT, "x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {**TEXT, "maxLength": 1, "minLength": 5},
        {"type": "object", "required": ["zz"]},
        keyed(NEEDED, "b"),
        keyed(objects(b={**TEXT, "default": "x"}), "b"),
        listed({**objects(b=TEXT), "x-kubernetes-map-type": "atomic"}, type="set"),
        {**objects(b={**TEXT, "default": "x"}), "default": {}},
        {**TEXT, "pattern": r"^[[:alpha:]]\p{L}*\z"},
    ],
)
def test_schemas_that_are_fine(field: dict[str, Any]) -> None:
    assert reported(field) == ""


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({}, "$.type: Required value: must not be empty at the root"),
        (TEXT, '$.type: Invalid value: "string": must be object at the root'),
        ({"type": "object", "nullable": True}, "$.nullable: Forbidden: nullable cannot be true at the root"),
        (
            objects(metadata=objects(name={**TEXT, "maxLength": 5}, labels={"type": "object"})),
            "$.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
            "but metadata is implicitly specified",
        ),
        (objects(metadata=TEXT), '$.properties[metadata].type: Invalid value: "string": must be object'),
        (
            objects(apiVersion={"type": "integer"}),
            '$.properties[apiVersion].type: Invalid value: "integer": must be string',
        ),
        (
            objects(metadata={"type": "object", "default": {}}),
            "$.properties[metadata].default: Forbidden: must not be set in top-level metadata",
        ),
        (
            objects(metadata=objects(name={**TEXT, "default": "x"})),
            "$.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
        ),
    ],
)
def test_roots_that_are_refused(schema: dict[str, Any], sentence: str) -> None:
    assert [str(each) for each in problems(schema, "$")] == [sentence]


def test_a_root_may_restrict_names() -> None:
    assert problems(objects(metadata=objects(name={**TEXT, "maxLength": 5})), "$") == []


# --- rules -------------------------------------------------------------------------------------------------


def ruled(schema: dict[str, Any], **rule: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [rule]}


AT = "a.x-kubernetes-validations[0]"


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        (ruled(TEXT, rule=""), f"{AT}.rule: Required value: rule is not specified"),
        (
            ruled(TEXT, rule="self == 'a'", message=" "),
            f'{AT}.message: Invalid value: " ": must be non-empty if specified',
        ),
        (
            ruled(TEXT, rule="self == 'x'", message="a\nb"),
            f'{AT}.message: Invalid value: "a\\nb": must not contain line breaks',
        ),
        (
            ruled(TEXT, rule="self ==\n'x'"),
            f"{AT}.message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            ruled(TEXT, rule="self == 'x'", reason="Foo"),
            f'{AT}.reason: Unsupported value: "Foo": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        ),
        (
            ruled(objects(b=TEXT), rule="true", fieldPath=".zz"),
            f'{AT}.fieldPath: Invalid value: ".zz": must be a valid path',
        ),
        (
            ruled(objects(b=TEXT), rule="true", fieldPath="b"),
            f'{AT}.fieldPath: Invalid value: "b": must be a valid path',
        ),
        (
            listed(ruled(TEXT, rule="self == oldSelf")),
            'a.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used '
            "on the uncorrelatable portion of the schema within a",
        ),
        (
            ruled(TEXT, rule="self == 'x'", optionalOldSelf=True),
            f"{AT}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
def test_rules_that_are_refused(field: dict[str, Any], sentence: str) -> None:
    assert reported(field) == sentence


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        (ruled(TEXT, rule="self.foo"), "compilation failed: ERROR: <input>:1:5: "),
        (ruled(TEXT, rule="self =="), "compilation failed: ERROR: <input>:1:8: Syntax error"),
        (ruled(TEXT, rule="self.nothing()"), "compilation failed: ERROR: "),
        (ruled(TEXT, rule="other == 1"), "undeclared reference to 'other'"),
        (ruled(TEXT, rule="self > 3"), "found no matching overload for '_>_'"),
        (ruled(TEXT, rule="self"), "cel expression must evaluate to a bool"),
        (ruled(TEXT, rule="true", messageExpression="1"), "messageExpression must evaluate to a string"),
        (ruled(objects(b=TEXT), rule="self.zz == 'x'"), "<input>:1:5: undefined field 'zz'"),
        (ruled(objects(b=objects(c=TEXT)), rule="has(self.b) && self.b.d == 'x'"), "undefined field 'd'"),
    ],
)
def test_rules_that_do_not_compile(field: dict[str, Any], sentence: str) -> None:
    assert sentence in reported(field)


@pytest.mark.parametrize(
    "field",
    [
        ruled(TEXT, rule="self == oldSelf"),
        ruled(TEXT, rule="self.startsWith('oldSelf.x') && 'self.zz' != self"),
        ruled(objects(b=TEXT), rule="self.b.size() > 1", fieldPath=".b", reason="FieldValueForbidden"),
        ruled(objects(**{"a-b": TEXT, "namespace": TEXT}), rule="self.a__dash__b == self.__namespace__"),
        keyed({**NEEDED, "x-kubernetes-validations": [{"rule": "self.b == oldSelf.b"}]}, "b"),
        {"type": "object", "additionalProperties": ruled(TEXT, rule="self == oldSelf")},
        ruled(
            {"type": "object", "additionalProperties": TEXT},
            rule="self.all(k, self[k] != '') && self.anything == 'x'",
        ),
    ],
)
def test_rules_that_are_fine(field: dict[str, Any]) -> None:
    assert reported(field) == ""


def test_rules_at_the_root_see_the_metadata() -> None:
    schema = {
        **objects(spec=objects(a=TEXT)),
        "x-kubernetes-validations": [{"rule": "self.metadata.name != 'bad'"}],
    }
    assert problems(schema, "$") == []


# --- into the model and back -------------------------------------------------------------------------------


def test_there_and_back() -> None:
    openapi = {
        "type": "object",
        "description": "All of it.",
        "required": ["a"],
        "properties": {
            "a": {**TEXT, "enum": ["x"], "pattern": "^x$", "minLength": 1, "maxLength": 3, "default": "x"},
            "n": {
                "type": "number",
                "minimum": 0,
                "maximum": 5,
                "exclusiveMinimum": True,
                "exclusiveMaximum": True,
                "multipleOf": 0.5,
            },
            "i": {"type": "integer", "format": "int32", "nullable": True, "minimum": 0},
            "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "l": {**keyed(NEEDED, "b"), "minItems": 1, "maxItems": 3},
            "m": {"type": "object", "additionalProperties": TEXT, "minProperties": 1, "maxProperties": 2},
            "e": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "g": {"type": "object", "x-kubernetes-map-type": "atomic", "oneOf": [{"required": ["q"]}]},
            "k": {"type": "object", "allOf": [{"required": ["q"]}], "not": {"required": ["r"]}},
            "empty": {"type": "object", "default": {}},
        },
        "x-kubernetes-validations": [
            {
                "rule": "self.a == oldSelf.a",
                "message": "stays",
                "messageExpression": "'stays'",
                "reason": "FieldValueForbidden",
                "fieldPath": ".a",
                "optionalOldSelf": True,
            }
        ],
    }
    assert to_openapi(parse(openapi)) == openapi


def test_merge_rules_are_published() -> None:
    openapi = {
        **listed(objects(b=TEXT)),
        "x-kubernetes-patch-merge-key": "b",
        "x-kubernetes-patch-strategy": "merge",
    }
    schema = parse(openapi)
    assert (schema.merge_key, schema.merge_strategy) == ("b", "merge")
    assert to_openapi(schema) == openapi
