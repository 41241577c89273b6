"""Objects that Go clients send as protobuf, against the JSON that the same Go types give.

`protobuf_cases.txt` was written by the Go serializers: a line of base64 protobuf, then the same as JSON.
"""

from __future__ import annotations

import base64
import contextlib
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.schema import protobuf
from podium.schema.kinds import TABLES
from podium.schema.protobuf import ProtobufError, decode_object

_LINES = (Path(__file__).parent / "protobuf_cases.txt").read_text().splitlines()
CASES = [
    (base64.b64decode(binary), msgspec.json.decode(text))
    for binary, text in zip(_LINES[::2], _LINES[1::2], strict=True)
]


def _without_null(value: Any) -> Any:
    """Go prints a time that is not set as null, which means the same as nothing."""
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("body", "document"), CASES, ids=[document["kind"] for _, document in CASES])
def test_it_reads_what_go_writes(body: bytes, document: dict[str, Any]) -> None:
    assert decode_object(body) == _without_null(document)


def test_every_field_of_every_built_in_type_has_a_number() -> None:
    numbers = protobuf._numbers()

    def names(type_name: str) -> set[str]:
        found: set[str] = set()
        for field in numbers[type_name].values():
            found |= names(field.inline) if field.inline else {field.name}
        return found

    for group, text in TABLES:
        for block in re.split(r"\n(?=\S)", text.strip("\n")):
            head, *lines = block.splitlines()
            reported = {match[1] for line in lines if (match := re.match(r"  (\S+?)!?\s", line))}
            missing = reported - names(f"{group}/{head.split()[0]}") - {"apiVersion", "kind"}
            assert not missing, head


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"k8s", b"k8s\x00", b"k8s\x00\x0a\x05", b"k8s\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"],
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(ProtobufError):
        decode_object(body)


def test_an_unknown_kind_is_named() -> None:
    type_meta = b"\x0a\x05x.y/z\x12\x05Thing"
    with pytest.raises(ProtobufError, match='no kind "Thing"'):
        decode_object(b"k8s\x00\x0a" + bytes([len(type_meta)]) + type_meta)


def test_a_message_that_nests_for_ever_is_refused() -> None:
    schema = b""
    for _ in range(3000):  # JSONSchemaProps.not, in itself
        schema = b"\xe2\x01" + _length(schema) + schema
    for field in (b"\x0a", b"\x22", b"\x3a", b"\x12"):  # openAPIV3Schema, schema, versions, spec
        schema = field + _length(schema) + schema
    type_meta = b"\x0a\x17apiextensions.k8s.io/v1\x12\x18CustomResourceDefinition"
    body = b"k8s\x00\x0a" + _length(type_meta) + type_meta + b"\x12" + _length(schema) + schema
    with pytest.raises(ProtobufError, match="exceeded max depth"):
        decode_object(body)


def _length(data: bytes) -> bytes:
    """How many bytes follow, as protobuf says it."""
    left, said = len(data), []
    while left > 0x7F:
        said.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*said, left])


@given(st.sampled_from(CASES), st.data())
def test_damage_is_told_and_never_a_crash(case: tuple[bytes, object], data: st.DataObject) -> None:
    body = bytearray(case[0])
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    del body[data.draw(st.integers(5, len(body))) :]
    with contextlib.suppress(ProtobufError):
        decode_object(bytes(body))
