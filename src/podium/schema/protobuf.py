"""Reading objects that come as protobuf.

Go clients of the built-in kinds (kubectl create, kubectl drain, controllers) send protobuf and do not fall back to
JSON, so a server must read it; they take answers as JSON, so it need not write it.

What a field is stands in the tables of `kinds/`; all that protobuf adds is its number, in `field_numbers.txt`: one
type in a line, its fields in the order of their numbers.  `17=name` skips to a number.  `name?` is a value whose
zero means that it was left out, since Go sends those.  `&type` is a message whose fields belong to the type around
it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from podium.schema.builtin import type_named
from podium.schema.model import Schema

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_EPOCH = datetime(1970, 1, 1)
_DEEPEST = 100  # messages in each other
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Document = dict[str, Any]
Raw = int | bytes  # a varint, or the bytes of anything else


class ProtobufError(ValueError):
    """The bytes are no object of a built-in kind.  The message is one sentence."""


class _Field(msgspec.Struct, frozen=True):
    name: str
    optional: bool = False  # its zero means absent
    inline: str = ""  # the type whose fields stand in this one


def decode_object(body: bytes) -> Document:
    """The object in a protobuf body, as its JSON would be."""
    if not body.startswith(_MAGIC):
        raise ProtobufError("the body does not begin like a Kubernetes protobuf message")
    try:
        envelope = _collect(body[len(_MAGIC) :])
        type_meta = _collect(_bytes(envelope.get(1, b"")))
        api_version = _bytes(type_meta.get(1, b"")).decode()
        kind = _bytes(type_meta.get(2, b"")).decode()
        found: Document = {"apiVersion": api_version, "kind": kind}
        _read_message(_bytes(envelope.get(2, b"")), _schema(api_version, kind), found, 0)
    except (struct.error, IndexError, UnicodeDecodeError, OverflowError, msgspec.DecodeError) as error:
        raise ProtobufError(f"the protobuf message is damaged: {error}") from None
    except RecursionError:
        raise _too_deep() from None
    return found


def _schema(api_version: str, kind: str) -> Schema:
    group = api_version.rpartition("/")[0].partition(".")[0] or "core"
    if kind == "DeleteOptions":
        group = "meta"  # every group calls it its own
    try:
        return type_named(f"{group}/{kind}")
    except KeyError:
        raise ProtobufError(f'no kind "{kind}" of {api_version or "v1"} can be read from protobuf') from None


@cache
def _numbers() -> dict[str, dict[int, _Field]]:
    """The fields of every type by their numbers."""
    table: dict[str, dict[int, _Field]] = {}
    text = files("podium.schema").joinpath("field_numbers.txt").read_text()
    for line in text.splitlines():
        name, *words = line.split()
        fields = table[name] = {}
        number = 0
        for word in words:
            stated, equals, word = word.rpartition("=")
            number = int(stated) if equals else number + 1
            inline = word[1:] if word.startswith("&") else ""
            fields[number] = _Field(word.rstrip("?"), word.endswith("?"), inline)
    return table


def _type_name(schema: Schema) -> str:
    """`io.k8s.api.core.v1.Container` is `core/Container` in the table of numbers."""
    parts = schema.name.split(".")
    return f"{parts[-3]}/{parts[-1]}"


# --- values ------------------------------------------------------------------------------------------------


def _read_message(data: bytes, schema: Schema, into: Document, depth: int, type_name: str = "") -> None:
    if depth > _DEEPEST:
        raise _too_deep()
    fields = _numbers()[type_name or _type_name(schema)]
    properties = schema.properties or {}
    for number, raw in _fields(data):
        field = fields.get(number)
        if field is None:
            continue  # of a newer version: as unknown here as in JSON
        if field.inline:
            _read_message(_bytes(raw), schema, into, depth, field.inline)
            continue
        of = properties[field.name]
        if of.type == "array" and of.if_object is None:
            assert of.items is not None
            into.setdefault(field.name, []).extend(_elements(raw, of.items, depth))
        elif of.values is not None:
            entry = _collect(_bytes(raw))
            key = _bytes(entry.get(1, b"")).decode()
            into.setdefault(field.name, {})[key] = _value(entry.get(2, b""), of.values, depth)
        else:
            value = _value(raw, of, depth)
            if value is not None and (value or not field.optional):
                into[field.name] = value


def _elements(raw: Raw, items: Schema, depth: int) -> list[Any]:
    """Numbers may come packed: many in one field."""
    if items.type == "integer" and isinstance(raw, bytes):
        numbers, at = [], 0
        while at < len(raw):
            number, at = _varint(raw, at)
            numbers.append(_signed(number))
        return numbers
    return [_value(raw, items, depth)]


def _value(raw: Raw, of: Schema, depth: int) -> Any:
    """One value; None for a time that is not set."""
    if of.if_object is not None:
        return _either(list(_fields(_bytes(raw))), of, depth)
    if of.type == "boolean":
        return bool(raw)
    if of.type == "integer":
        return _signed(raw) if isinstance(raw, int) else 0
    data = _bytes(raw)
    if of.type == "number":
        return struct.unpack("<d", data)[0]
    if of.format == "quantity":
        return _bytes(_collect(data).get(1, b"")).decode()
    if of.int_or_string:
        parts = _collect(data)
        return _bytes(parts.get(3, b"")).decode() if parts.get(1) else _signed(_number(parts.get(2, 0)))
    if of.format in ("date-time", "micro-time"):
        return _time(_collect(data), micro=of.format == "micro-time")
    if of.type == "string":
        return base64.b64encode(data).decode() if of.format == "byte" else data.decode()
    if of.properties is not None:
        found: Document = {}
        _read_message(data, of, found, depth + 1)
        return found
    return msgspec.json.decode(_bytes(_collect(data).get(1, b"null")))  # JSON inside: managed fields, revisions


def _either(fields: list[tuple[int, Raw]], of: Schema, depth: int) -> Any:
    """A schema or a boolean, in a CRD; or a schema or a list.  Each alternative has a field of its own."""
    struct, other = (2, 1) if of.type == "boolean" else (1, 2)
    for number, raw in fields:
        if number == struct:
            found: Document = {}
            assert of.if_object is not None
            _read_message(_bytes(raw), of.if_object, found, depth + 1)
            return found
    if of.type == "boolean":
        return any(raw for number, raw in fields if number == other)
    assert of.items is not None
    return [_value(raw, of.items, depth) for number, raw in fields if number == other]


def _time(parts: dict[int, Raw], *, micro: bool) -> str | None:
    if not parts:
        return None
    seconds, nanos = _signed(_number(parts.get(1, 0))), _number(parts.get(2, 0))
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    # Not by strftime, which writes the year 1 as "1".
    return moment.isoformat(timespec="microseconds" if micro else "seconds") + "Z"


# --- bytes -------------------------------------------------------------------------------------------------


def _collect(data: bytes) -> dict[int, Raw]:
    """A small message as a whole; of a repeated field the last counts."""
    return dict(_fields(data))


def _fields(data: bytes) -> Iterator[tuple[int, Raw]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"the protobuf message is damaged: there is no wire type {wire}")
        if at + length > len(data):
            raise ProtobufError("the protobuf message is damaged: it ends too early")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise ProtobufError("the protobuf message is damaged: a number has no end")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _bytes(raw: Raw) -> bytes:
    if isinstance(raw, bytes):
        return raw
    raise ProtobufError("the protobuf message is damaged: a number stands where something else should")


def _number(raw: Raw) -> int:
    if isinstance(raw, int):
        return raw
    raise ProtobufError("the protobuf message is damaged: something else stands where a number should")


def _too_deep() -> ProtobufError:
    return ProtobufError(f"the protobuf message exceeded max depth: it nests more than {_DEEPEST} deep")
