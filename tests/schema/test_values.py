"""Values of custom resources: every sentence here is one that a real API server said."""

from __future__ import annotations

from typing import Any

import pytest

from podium.schema.structural import parse
from podium.schema.values import validate

TEXT = {"type": "string"}
INT = {"type": "integer"}
AB = {"a": TEXT, "b": TEXT}
NEEDS_A, NEEDS_B = {"required": ["a"]}, {"required": ["b"]}
FORMATS = [
    "date-time",
    "date",
    "uuid",
    "ipv4",
    "ipv6",
    "cidr",
    "uri",
    "email",
    "byte",
    "hostname",
    "duration",
    "mac",
]

SCHEMA = parse(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["req"],
                "properties": {
                    "req": TEXT,
                    "i": INT,
                    "i32": {"type": "integer", "format": "int32"},
                    "n": {"type": "number"},
                    "b": {"type": "boolean"},
                    "s": TEXT,
                    "e": {"type": "string", "enum": ["A", "B"]},
                    "ei": {"type": "integer", "enum": [1, 2]},
                    "p": {"type": "string", "pattern": "^a+$"},
                    "len": {"type": "string", "minLength": 2, "maxLength": 4},
                    "mm": {"type": "integer", "minimum": 1, "maximum": 5},
                    "xmm": {
                        "type": "number",
                        "minimum": 1,
                        "maximum": 5,
                        "exclusiveMinimum": True,
                        "exclusiveMaximum": True,
                    },
                    "mo": {"type": "integer", "multipleOf": 3},
                    "items": {"type": "array", "minItems": 1, "maxItems": 2, "items": TEXT},
                    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                    "map": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["k"],
                        "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": TEXT}},
                    },
                    "map2": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["p", "k"],
                        "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT, "p": TEXT}},
                    },
                    "obj": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": INT},
                    "ios": {"x-kubernetes-int-or-string": True},
                    "nul": {"type": "string", "nullable": True},
                    "one": {"type": "object", "properties": AB, "oneOf": [NEEDS_A, NEEDS_B]},
                    "any": {"type": "object", "properties": AB, "anyOf": [NEEDS_A, NEEDS_B]},
                    "all": {"type": "object", "properties": AB, "allOf": [NEEDS_A, NEEDS_B]},
                    "not": {"type": "object", "properties": AB, "not": NEEDS_A},
                    **{name: {"type": "string", "format": name} for name in FORMATS},
                    "pw": {"type": "string", "format": "password"},
                    "unk": {"type": "string", "format": "whatever"},
                    "emb": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                    "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": TEXT}}},
                },
            }
        },
    }
)


def reported(spec: Any, old: Any = None) -> str:
    before = None if old is None else {"spec": {"req": "x", **old}}
    return "; ".join(str(each) for each in validate({"spec": spec}, SCHEMA, old=before))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"i": "x"}, 'spec.i: Invalid value: "string": spec.i in body must be of type integer: "string"'),
        ({"i": 1.5}, 'spec.i: Invalid value: "number": spec.i in body must be of type integer: "number"'),
        ({"i": True}, 'spec.i: Invalid value: "boolean": spec.i in body must be of type integer: "boolean"'),
        ({"i": 2**70}, 'spec.i: Invalid value: "number": spec.i in body must be of type integer: "number"'),
        (
            {"i32": 2**40},
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.i32',
        ),
        ({"n": "x"}, 'spec.n: Invalid value: "string": spec.n in body must be of type number: "string"'),
        ({"b": "x"}, 'spec.b: Invalid value: "string": spec.b in body must be of type boolean: "string"'),
        ({"s": 1}, 'spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"'),
        ({"s": []}, 'spec.s: Invalid value: "array": spec.s in body must be of type string: "array"'),
        ({"s": None}, 'spec.s: Invalid value: "null": spec.s in body must be of type string: "null"'),
        ({"e": "C"}, 'spec.e: Unsupported value: "C": supported values: "A", "B"'),
        ({"ei": 3}, 'spec.ei: Unsupported value: 3: supported values: "1", "2"'),
        (
            {"ei": "A"},
            'spec.ei: Invalid value: "string": spec.ei in body must be of type integer: "string"; '
            'spec.ei: Unsupported value: "A": supported values: "1", "2"',
        ),
        ({"p": "b"}, "spec.p: Invalid value: \"b\": spec.p in body should match '^a+$'"),
        ({"p": "a\n"}, "spec.p: Invalid value: \"a\\n\": spec.p in body should match '^a+$'"),
        ({"len": "a"}, 'spec.len: Invalid value: "a": spec.len in body should be at least 2 chars long'),
        ({"len": "abcde"}, "spec.len: Too long: may not be more than 4 bytes"),
        ({"mm": 0}, "spec.mm: Invalid value: 0: spec.mm in body should be greater than or equal to 1"),
        ({"mm": 6}, "spec.mm: Invalid value: 6: spec.mm in body should be less than or equal to 5"),
        ({"xmm": 1}, "spec.xmm: Invalid value: 1: spec.xmm in body should be greater than 1"),
        ({"xmm": 5}, "spec.xmm: Invalid value: 5: spec.xmm in body should be less than 5"),
        ({"mo": 4}, "spec.mo: Invalid value: 4: spec.mo in body should be a multiple of 3"),
        ({"items": []}, "spec.items: Invalid value: 0: spec.items in body should have at least 1 items"),
        ({"items": ["a", "b", "c"]}, "spec.items: Too many: 3: must have at most 2 items"),
        (
            {"items": ["a", 1]},
            'spec.items[1]: Invalid value: "integer": spec.items[1] in body must be of type string: "integer"',
        ),
        ({"set": ["a", "b", "a"]}, 'spec.set[2]: Duplicate value: "a"'),
        ({"map": [{"k": "a"}, {"k": "a", "v": "x"}]}, 'spec.map[1]: Duplicate value: {"k":"a"}'),
        ({"map": [{"v": "a"}]}, "spec.map[0].k: Required value"),
        (
            {"map2": [{"k": "a", "p": "TCP"}, {"k": "a", "p": "TCP"}]},
            'spec.map2[1]: Duplicate value: {"k":"a","p":"TCP"}',
        ),
        ({"obj": {}}, "spec.obj: Invalid value: 0: spec.obj in body should have at least 1 properties"),
        ({"obj": {"a": 1, "b": 2, "c": 3}}, "spec.obj: Too many: 3: must have at most 2 items"),
        (
            {"obj": {"a": "x"}},
            'spec.obj.a: Invalid value: "string": spec.obj.a in body must be of type integer: "string"',
        ),
        (
            {"ios": 1.5},
            'spec.ios: Invalid value: "number": spec.ios in body must be of type integer,string: "number"',
        ),
        ({"nul": 1}, 'spec.nul: Invalid value: "integer": spec.nul in body must be of type string: "integer"'),
        (
            {"one": {}},
            '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none '
            "valid; spec.one.a: Required value",
        ),
        (
            {"one": {"a": "x", "b": "y"}},
            '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives",
        ),
        (
            {"any": {}},
            '<nil>: Invalid value: "": "spec.any" must validate at least one schema (anyOf); '
            "spec.any.a: Required value",
        ),
        (
            {"all": {"a": "x"}},
            "spec.all.b: Required value; "
            '<nil>: Invalid value: "": "spec.all" must validate all the schemas (allOf)',
        ),
        ({"not": {"a": "x"}}, '<nil>: Invalid value: "": "spec.not" must not validate the schema (not)'),
        ({"emb": {"a": 1}}, "spec.emb.apiVersion: Required value; spec.emb.kind: Required value"),
        (
            {"m": {"a.b/c": {"a": 1}}},
            'spec.m.a.b/c.a: Invalid value: "integer": spec.m.a.b/c.a in body must be of type string: "integer"',
        ),
    ],
)  # fmt: skip
def test_refusals(spec: dict[str, Any], sentence: str) -> None:
    assert reported({"req": "x", **spec}) == sentence


@pytest.mark.parametrize(
    "spec",
    [
        {"i": 1.0},
        {"i": -(2**63)},
        {"n": 1},
        {"xmm": 1.5},
        {"len": "éééé"},
        {"ios": 1},
        {"ios": "x"},
        {"nul": None},
        {"one": {"a": "x"}},
        {"any": {"a": "x", "b": "y"}},
        {"pw": "x", "unk": "x"},
        {"mo": 6},
        {"items": ["a"]},
        {"map2": [{"k": "a", "p": "TCP"}, {"k": "a", "p": "UDP"}]},
        {"emb": {"apiVersion": "v1", "kind": "X"}},
    ],
)
def test_what_is_allowed(spec: dict[str, Any]) -> None:
    assert reported({"req": "x", **spec}) == ""


def test_numbers_of_any_size() -> None:
    schema = parse({"type": "object", "properties": {"n": {"type": "number", "multipleOf": 0.1}}})
    for value in (0.3, 1e308, 10**400, -7):
        assert validate({"n": value}, schema) == []
    assert validate({"n": 0.25}, schema) != []


def test_reasons_of_causes() -> None:
    errors = validate({"spec": {"i": "x", "e": "C", "len": "abcde", "items": ["a", "b", "c"]}}, SCHEMA)
    assert {each.reason for each in errors} == {
        "FieldValueRequired",
        "FieldValueTypeInvalid",
        "FieldValueNotSupported",
        "FieldValueTooLong",
        "FieldValueTooMany",
    }


@pytest.mark.parametrize("name", FORMATS)
def test_formats_refuse_nonsense(name: str) -> None:
    bad = "_!"
    assert reported({"req": "x", name: bad}) == (
        f'spec.{name}: Invalid value: "{bad}": spec.{name} in body must be of type {name}: "{bad}"'
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date-time", "2020-01-01T00:00:00Z"),
        ("date-time", "2020-01-01T00:00:00.123456789+01:00"),
        ("date", "2020-02-29"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("ipv4", "10.0.0.1"),
        ("ipv6", "fe80::1"),
        ("cidr", "10.0.0.0/8"),
        ("uri", "https://example.com/x?y#z"),
        ("email", "a@example.com"),
        ("byte", "aGVsbG8="),
        ("hostname", "example.com"),
        ("duration", "1h30m"),
        ("duration", "2 days"),
        ("mac", "01:23:45:67:89:ab"),
    ],
)
def test_formats_accept_what_they_name(name: str, value: str) -> None:
    assert reported({"req": "x", name: value}) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date-time", "2020-01-01 00:00:00Z"),
        ("date-time", "2020-13-01T00:00:00Z"),
        ("date-time", "2020-01-01T00:00:00"),
        ("date", "2020-02-30"),
        ("ipv4", "fe80::1"),
        ("ipv6", "10.0.0.1"),
        ("cidr", "10.0.0.1"),
        ("byte", "aGVsbG8"),
        ("hostname", "a..b"),
        ("duration", "2 moons"),
    ],
)
def test_formats_refuse_near_misses(name: str, value: str) -> None:
    assert f"must be of type {name}" in reported({"req": "x", name: value})


def test_the_root_and_missing_things() -> None:
    assert reported({}) == "spec.req: Required value"
    assert reported("x") == 'spec: Invalid value: "string": spec in body must be of type object: "string"'
    assert validate({}, SCHEMA) == []


def test_what_did_not_change_is_not_checked_again() -> None:
    bad = {"req": "x", "e": "old", "map": [{"k": "a", "v": 1}]}
    old = {"e": "old", "map": [{"k": "a", "v": 1}]}
    assert reported(bad) != ""
    assert reported(bad, old) == ""
    # In a keyed list an item is found by its key, wherever it stands now.
    moved = {"req": "x", "map": [{"k": "new"}, {"k": "a", "v": 1}]}
    assert reported(moved, old) == ""
    assert "spec.map[0].v" in reported({"req": "x", "map": [{"k": "a", "v": 2}]}, old)
    assert "spec.e" in reported({"req": "x", "e": "new"}, old)
