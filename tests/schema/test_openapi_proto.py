"""The older OpenAPI document as protobuf: everything that was in it comes out again."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema import structural
from podium.schema.builtin import schema_of
from podium.schema.model import Schema
from podium.schema.openapi import swagger_document
from podium.schema.openapi_proto import encode_swagger

Document = dict[str, Any]
Message = dict[int, list[Any]]

KINDS = [value for value in vars(r).values() if isinstance(value, Resource)]
FOO = Resource("example.com", "v1", "foos", "Foo")
GVK = "x-kubernetes-group-version-kind"


# --- a reader of the message ----------------------------------------------------------------------------------


def read(data: bytes) -> Message:
    """The fields of one message by number, each with all its values."""
    found: Message = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        value: int | float | bytes
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            (value,) = struct.unpack_from("<d", data, at)
            at += 8
        else:
            assert key & 7 == 2
            length = varint()
            value = data[at : at + length]
            assert len(value) == length
            at += length
        found.setdefault(key >> 3, []).append(value)
    return found


def one(message: Message, number: int) -> Any:
    (value,) = message[number]
    return value


def pairs(values: list[bytes]) -> dict[str, bytes]:
    named = [read(each) for each in values]
    return {one(each, 1).decode(): one(each, 2) for each in named}


def any_value(data: bytes) -> Any:
    return yaml.safe_load(one(read(data), 2).decode())


def text(values: list[Any]) -> str:
    (value,) = values
    decoded: str = value.decode()
    return decoded


def plain(values: list[Any]) -> Any:
    (value,) = values
    return value


def flag(values: list[Any]) -> bool:
    return bool(plain(values))


def inner(values: list[Any]) -> Document:
    """A schema in a message around it."""
    (value,) = values
    return schema(one(read(value), 1))


SCHEMA: dict[int, tuple[str, Callable[[list[Any]], Any]]] = {
    1: ("$ref", text),
    2: ("format", text),
    4: ("description", text),
    6: ("multipleOf", plain),
    7: ("maximum", plain),
    8: ("exclusiveMaximum", flag),
    9: ("minimum", plain),
    10: ("exclusiveMinimum", flag),
    11: ("maxLength", plain),
    12: ("minLength", plain),
    13: ("pattern", text),
    14: ("maxItems", plain),
    15: ("minItems", plain),
    16: ("uniqueItems", flag),
    17: ("maxProperties", plain),
    18: ("minProperties", plain),
    19: ("required", lambda values: [each.decode() for each in values]),
    20: ("enum", lambda values: [any_value(each) for each in values]),
    21: ("additionalProperties", inner),
    22: ("type", lambda values: text(read(plain(values))[1])),
    23: ("items", inner),
    25: ("properties", lambda values: {key: schema(each) for key, each in properties(plain(values)).items()}),
}


def properties(data: bytes) -> dict[str, bytes]:
    return pairs(read(data).get(1, []))


def schema(data: bytes) -> Document:
    found: Document = {}
    for number, values in read(data).items():
        if number == 31:
            found |= {key: any_value(value) for key, value in pairs(values).items()}
        else:
            key, decode = SCHEMA[number]
            found[key] = decode(values)
    return found


def definitions(document: Document) -> Document:
    message = read(encode_swagger(document))
    return {key: schema(value) for key, value in pairs(read(one(message, 9))[1]).items()}


def custom(**fields: Any) -> Document:
    """The definitions' entry for the spec of a custom resource."""
    openapi = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    document = swagger_document([(FOO, structural.parse(openapi))])
    spec: Document = definitions(document)["com.example.v1.Foo"]["properties"]["spec"]["properties"]
    return spec


@pytest.fixture(scope="module")
def swagger() -> Document:
    return swagger_document([(kind, schema_of(kind)) for kind in KINDS])


# --- types ----------------------------------------------------------------------------------------------------


def test_all_built_in_types_come_out_as_they_went_in(swagger: Document) -> None:
    assert definitions(swagger) == swagger["definitions"]


def test_the_head(swagger: Document) -> None:
    message = read(encode_swagger(swagger))
    assert set(message) == {1, 2, 8, 9}
    assert text(message[1]) == "2.0"
    assert {number: text(value) for number, value in read(one(message, 2)).items()} == {
        1: swagger["info"]["title"],
        2: swagger["info"]["version"],
    }


def test_what_kubectl_looks_for(swagger: Document) -> None:
    found = definitions(swagger)
    deployment = found["io.k8s.api.apps.v1.Deployment"]
    assert deployment[GVK] == [{"group": "apps", "version": "v1", "kind": "Deployment"}]
    containers = found["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    # Beside the reference, where kubectl reads it, and not around it as in the newer format.
    assert found["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"] == {
        "$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentStrategy",
        "x-kubernetes-patch-strategy": "retainKeys",
    }


def test_values_that_restrict() -> None:
    number = {
        "type": "number",
        "minimum": -1.5,
        "maximum": 0,
        "exclusiveMinimum": True,
        "exclusiveMaximum": True,
        "multipleOf": 0.5,
        "enum": [0, -0.5],
    }
    words = {"type": "string", "minLength": 0, "maxLength": 1 << 40, "pattern": "^ä+$", "enum": ["A", "no", "1"]}
    many = {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 300, "uniqueItems": True}
    table = {
        "type": "object",
        "additionalProperties": {"type": "integer", "format": "int32"},
        "minProperties": 1,
        "maxProperties": 2,
    }
    assert custom(n=number, w=words, m=many, t=table) == {"n": number, "w": words, "m": many, "t": table}


def test_an_object_without_fields_still_has_properties() -> None:
    assert custom(empty={"type": "object", "properties": {}}) == {"empty": {"type": "object", "properties": {}}}


# --- where the older format would be stricter than the server -------------------------------------------------


def test_open_objects_list_no_fields() -> None:
    free = {
        "type": "object",
        "description": "free",
        "x-kubernetes-preserve-unknown-fields": True,
        "required": ["a"],
        "properties": {"a": {"type": "string"}},
    }
    assert custom(free=free) == {"free": {"description": "free", "x-kubernetes-preserve-unknown-fields": True}}


def test_what_may_be_null_has_no_type() -> None:
    nullable = {"type": "string", "nullable": True, "description": "perhaps"}
    assert custom(maybe=nullable, list={"type": "array", "items": nullable}) == {
        "maybe": {"description": "perhaps"},
        "list": {"type": "array", "items": {"description": "perhaps"}},
    }


def test_alternatives_and_defaults_are_left_out() -> None:
    given = {
        "type": "integer",
        "default": 3,
        "anyOf": [{"minimum": 1}],
        "oneOf": [{"minimum": 1}],
        "not": {"minimum": 9},
    }
    assert custom(given=given) == {"given": {"type": "integer"}}


def test_int_or_string_has_no_type() -> None:
    both = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert custom(port=both) == {"port": {"x-kubernetes-int-or-string": True}}


def test_a_custom_resource_that_keeps_everything() -> None:
    whole = structural.parse({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    found = definitions(swagger_document([(FOO, whole)]))["com.example.v1.Foo"]
    assert found == {
        "type": "object",
        GVK: [{"group": "example.com", "version": "v1", "kind": "Foo"}],
    }


# --- YAML -----------------------------------------------------------------------------------------------------


@given(st.text())
def test_any_text_survives_as_yaml(word: str) -> None:
    assert custom(a={"type": "string", "enum": [word]})["a"]["enum"] == [word]


@pytest.mark.parametrize(
    "word", ["\x7f", "\x85", "\x9f", "\u2028", "\u2029", "\ufeff", "\uffff", "a\tb\n", "\U0001f600"]
)
def test_characters_that_yaml_treats_in_its_own_way(word: str) -> None:
    message = custom(a={"type": "string", "enum": [f"<{word}>", {word: word}]})
    assert message["a"]["enum"] == [f"<{word}>", {word: word}]


# --- operations -----------------------------------------------------------------------------------------------


def path_items(document: Document) -> dict[str, Message]:
    paths = read(one(read(encode_swagger(document)), 8))
    return {key: read(value) for key, value in pairs(paths[2]).items()}


def parameter_of(data: bytes) -> tuple[str, str]:
    """Where it stands and its name."""
    parameter = read(one(read(data), 1))
    if 1 in parameter:
        body = read(one(parameter, 1))
        assert text(body[3]) == "body"
        return "body", text(body[2])
    place = read(one(parameter, 2))
    (number,) = place
    inside = read(one(place, number))
    assert text(inside[2]) == {3: "query", 4: "path"}[number]
    return text(inside[2]), text(inside[4])


def test_every_path_and_its_operations(swagger: Document) -> None:
    numbers = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
    items = path_items(swagger)
    assert list(items) == list(swagger["paths"])
    for path, item in items.items():
        described = swagger["paths"][path]
        assert {verb for verb, number in numbers.items() if number in item} == set(described) - {"parameters"}
        assert [parameter_of(each) for each in item.get(9, [])] == [
            (each["in"], each["name"]) for each in described["parameters"]
        ]
        for verb in set(described) - {"parameters"}:
            operation = read(one(item, numbers[verb]))
            assert text(operation[5]) == described[verb]["operationId"]
            assert [parameter_of(each) for each in operation.get(8, [])] == [
                (each["in"], each["name"]) for each in described[verb]["parameters"]
            ]


def test_patch_says_for_which_kind_and_with_which_parameters(swagger: Document) -> None:
    patch = read(one(path_items(swagger)["/api/v1/namespaces/{namespace}/pods/{name}"], 8))
    extensions = {key: any_value(value) for key, value in pairs(patch[13]).items()}
    assert extensions[GVK] == {"group": "", "version": "v1", "kind": "Pod"}
    assert extensions["x-kubernetes-action"] == "patch"
    assert {("query", "fieldValidation"), ("query", "dryRun"), ("body", "body")} <= {
        parameter_of(each) for each in patch[8]
    }
    assert b"application/strategic-merge-patch+json" in patch[7]
    answer = read(one(read(pairs(read(one(patch, 9))[1])["200"]), 1))
    assert text(answer[1]) == "OK"
    assert schema(one(read(one(answer, 2)), 1)) == {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}


def test_nothing_at_all() -> None:
    message = read(encode_swagger(swagger_document([])))
    assert (one(message, 8), one(message, 9)) == (b"", b"")


def test_it_is_quick(swagger: Document) -> None:
    """Made again whenever a definition of custom resources comes or goes, while others wait."""
    wide: Schema = structural.parse(
        {"type": "object", "properties": {f"f{i}": {"type": "string", "pattern": "^a$"} for i in range(1000)}}
    )
    document = swagger_document([*((kind, schema_of(kind)) for kind in KINDS), (FOO, wide)])
    best = 1.0
    for _ in range(3):
        began = time.perf_counter()
        encode_swagger(document)
        best = min(best, time.perf_counter() - began)
    assert best < 0.3
