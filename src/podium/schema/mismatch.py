"""A value of the wrong type, with the message of a real API server's decoder.

    json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32

The path has no list indexes, and the struct is the one that declares the field.
"""

from __future__ import annotations

from typing import Any

from podium.kube import fields
from podium.schema.formats import is_byte, is_date_time
from podium.schema.model import Schema
from podium.schema.shape import (
    ANY,
    integer_range,
    is_int_or_string,
    is_quantity,
    meant,
    members_of,
    object_meta,
)

_LAYOUTS = {"date-time": "2006-01-02T15:04:05Z07:00", "micro-time": "2006-01-02T15:04:05.000000Z07:00"}
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def first_mismatch(document: Any, schema: Schema) -> str | None:
    """The first value of a wrong type in a whole object; null is right everywhere."""
    return _mismatch(document, schema, "", "", True)


def metadata_mismatch(metadata: Any) -> str | None:
    """The same in the metadata of a custom resource, which is decoded apart from the rest."""
    if metadata is not None and not isinstance(metadata, dict):
        return f"json: cannot unmarshal {_json_type(metadata)} into Go value of type v1.ObjectMeta"
    return _mismatch(metadata, object_meta(), "", "", False)


def _mismatch(value: Any, schema: Schema, owner: str, path: str, resource: bool) -> str | None:
    """The first mismatch below.  `owner` is the struct that has the field."""
    schema = meant(value, schema)
    if value is None or (not schema.type and not schema.int_or_string and not resource):
        return None
    if schema.format == "quantity":
        return None if is_quantity(value) else _QUANTITY_RULE
    if not _fits(value, schema, resource):
        return _message(value, schema, owner, path)
    if isinstance(value, dict):
        inner_owner = schema.name.rpartition(".")[2] or owner
        members = members_of(schema, resource)
        for key, item in value.items():
            if key in members:
                field = f"{path}.{key}" if path else key
                reported = _mismatch(item, members[key], inner_owner, field, members[key].embedded)
            else:
                reported = _mismatch(item, schema.values or ANY, owner, path, False)
            if reported:
                return reported
    elif isinstance(value, list):
        for item in value:
            if reported := _mismatch(item, schema.items or ANY, owner, path, False):
                return reported
    elif isinstance(value, str):
        if schema.format in _LAYOUTS and not is_date_time(value):
            shown = fields.show(value)
            return f'parsing time {shown} as "{_LAYOUTS[schema.format]}": cannot parse {shown} as "2006"'
        if schema.format == "byte" and not is_byte(value):
            return "illegal base64 data at input byte 0"
    return None


def _fits(value: Any, schema: Schema, resource: bool) -> bool:
    if schema.int_or_string:
        return is_int_or_string(value)
    match "object" if resource else schema.type:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
    low, high = integer_range(schema)
    return type(value) is int and low <= value <= high


def _message(value: Any, schema: Schema, owner: str, path: str) -> str:
    given = _json_type(value)
    if given == "number" and (schema.type in ("integer", "number") or schema.int_or_string):
        given = f"number {value}"
    return f"json: cannot unmarshal {given} into Go struct field {owner}.{path} of type {_go_type(schema)}"


def _json_type(value: Any) -> str:
    names = {bool: "bool", str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return names[type(value)]


def _go_type(schema: Schema) -> str:
    if schema.int_or_string:
        return "int32"
    match schema.type:
        case "array":
            return f"[]{_go_type(schema.items or ANY)}"
        case "integer":
            return schema.format or "int64"
        case "number":
            return "float64"
        case "boolean":
            return "bool"
        case "string":
            return "[]uint8" if schema.format == "byte" else "string"
    if schema.values is not None:
        quantities = schema.values.format == "quantity"
        return "v1.ResourceList" if quantities else f"map[string]{_go_type(schema.values)}"
    return f"v1.{schema.name.rpartition('.')[2]}" if schema.name else "map[string]interface {}"
