"""The older OpenAPI document as protobuf, the only form in which Go clients read it.

kubectl asks for it to check what server-side validation does not cover: the items of a `kind: List`, and kinds
that it does not find elsewhere.  It expects the message `openapi.v2.Document` of the gnostic project.

The tables below give the number of each key that `openapi.swagger_document` writes; a key that the message has no
place for is left out.  Extensions and enums travel as YAML text, for which JSON is good enough.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import msgspec

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# What clients have in their Accept header: an older spelling, which is not a valid media type.
REQUESTED_AS = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

Document = dict[str, Any]
# Something as protobuf: a field with its key, or the fields inside of a message.
Writer = Callable[[Any], bytes]

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_64_BITS = (1 << 64) - 1
# What JSON leaves as it is, but YAML takes for a line end or does not allow.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def encode_swagger(document: Document) -> bytes:
    """A document from `openapi.swagger_document` as an `openapi.v2.Document`."""
    return _document(document)


# --- fields --------------------------------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _message(number: int, inside: Writer) -> Writer:
    """A field that is a message; all of them are prefixed by their length."""
    key = _key(number, _BYTES)

    def write(value: Any) -> bytes:
        body = inside(value)
        return key + _varint(len(body)) + body

    return write


def _text(number: int) -> Writer:
    return _message(number, str.encode)


def _integer(number: int) -> Writer:
    key = _key(number, _VARINT)
    return lambda value: key + _varint(int(value) & _64_BITS)


_flag = _integer


def _double(number: int) -> Writer:
    key = _key(number, _FIXED64)
    return lambda value: key + struct.pack("<d", value)


def _repeated(field: Writer) -> Writer:
    """A list: its elements follow each other, each with the field's key."""
    return lambda values: b"".join(map(field, values))


def _named(number: int, value: Writer) -> Writer:
    """One (name, value) pair: what this message has instead of maps."""
    name, content = _text(1), _message(2, value)
    return _message(number, lambda pair: name(pair[0]) + content(pair[1]))


def _mapping(number: int, value: Writer) -> Writer:
    """The inside of a message that holds a map."""
    pairs = _repeated(_named(number, value))
    return lambda mapping: pairs(mapping.items())


def _yaml(value: Any) -> bytes:
    text = msgspec.json.encode(value).decode()
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


_any = _message(2, _yaml)  # the inside of an `Any`


def _fields(numbered: dict[str, Writer], extensions: int = 0) -> Writer:
    """The inside of a message with known keys; those that begin with `x-` go to the field `extensions`."""
    extension = _named(extensions, _any)

    def write(document: Document) -> bytes:
        written = []
        for key, value in document.items():
            field = numbered.get(key)
            if field is not None:
                written.append(field(value))
            elif extensions and key.startswith("x-"):
                written.append(extension((key, value)))
        return b"".join(written)

    return write


# --- types ---------------------------------------------------------------------------------------------------


def _schema(schema: Document) -> bytes:
    return _schema_fields(schema)  # found when called: a schema contains schemas


_schema_fields = _fields(
    {
        "$ref": _text(1),
        "format": _text(2),
        "description": _text(4),
        "multipleOf": _double(6),
        "maximum": _double(7),
        "exclusiveMaximum": _flag(8),
        "minimum": _double(9),
        "exclusiveMinimum": _flag(10),
        "maxLength": _integer(11),
        "minLength": _integer(12),
        "pattern": _text(13),
        "maxItems": _integer(14),
        "minItems": _integer(15),
        "uniqueItems": _flag(16),
        "maxProperties": _integer(17),
        "minProperties": _integer(18),
        "required": _repeated(_text(19)),
        "enum": _repeated(_message(20, _any)),
        "additionalProperties": _message(21, _message(1, _schema)),
        "type": _message(22, _text(1)),
        "items": _message(23, _message(1, _schema)),
        "properties": _message(25, _mapping(1, _schema)),
    },
    extensions=31,
)


# --- operations ----------------------------------------------------------------------------------------------

_of_query = _fields(
    {"required": _flag(1), "in": _text(2), "name": _text(4), "type": _text(6), "uniqueItems": _flag(20)}
)
_of_path = _fields(
    {"required": _flag(1), "in": _text(2), "name": _text(4), "type": _text(5), "uniqueItems": _flag(19)}
)
_of_body = _fields({"name": _text(2), "in": _text(3), "required": _flag(4), "schema": _message(5, _schema)})
# A parameter by the place where it stands; each place has a message of its own.
_PARAMETERS = {
    "body": _message(1, _of_body),
    "query": _message(2, _message(3, _of_query)),
    "path": _message(2, _message(4, _of_path)),
}


def _parameter(parameter: Document) -> bytes:
    return _PARAMETERS[parameter["in"]](parameter)


def _parameters(number: int) -> Writer:
    return _repeated(_message(number, _message(1, _parameter)))


_response = _fields({"description": _text(1), "schema": _message(2, _message(1, _schema))})

_operation = _fields(
    {
        "tags": _repeated(_text(1)),
        "operationId": _text(5),
        "produces": _repeated(_text(6)),
        "consumes": _repeated(_text(7)),
        "parameters": _parameters(8),
        "responses": _message(9, _mapping(1, _message(1, _response))),
    },
    extensions=13,
)

_path_item = _fields(
    {
        "get": _message(2, _operation),
        "put": _message(3, _operation),
        "post": _message(4, _operation),
        "delete": _message(5, _operation),
        "patch": _message(8, _operation),
        "parameters": _parameters(9),
    }
)

_document = _fields(
    {
        "swagger": _text(1),
        "info": _message(2, _fields({"title": _text(1), "version": _text(2)})),
        "paths": _message(8, _mapping(2, _path_item)),
        "definitions": _message(9, _mapping(1, _schema)),
    }
)
