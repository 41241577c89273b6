"""What an API server does with a document and its schema, before anything looks at what the fields mean.

    is_clean          every field known and of its type: one fast walk, no paths, nearly always the only one
    unknown_fields    which fields are not known, for warnings and strict refusals
    type_error        the first value of the wrong type, in words: built-in kinds refuse it as a bad request
    prune             drops unknown fields
    apply_defaults    fills in a custom resource's absent fields

Values of custom resources are checked by `schema.values`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec

from podium.kube.schema.model import Schema

Document = dict[str, Any]

# Every object may say what it is, also one that is embedded in another and whose schema does not list these.
TYPE_META = ("apiVersion", "kind", "metadata")

_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63}
_GO_TYPES = {"integer": "int64", "boolean": "bool", "number": "float64"}


def is_clean(value: Any, schema: Schema) -> bool:
    """Whether all fields are known and have the right type.  Null is fine anywhere."""
    if value is None:
        return True
    kind = schema.type
    if kind == "object":
        return type(value) is dict and _is_clean_object(value, schema)
    if kind == "string":
        return type(value) is str or _is_other_text(value, schema)
    if kind == "array":
        if type(value) is not list:
            return False
        items = schema.items
        if items is None:
            return True
        if items.type == "object":
            return all([type(item) is dict and _is_clean_object(item, items) for item in value])
        return all([is_clean(item, items) for item in value])
    if kind == "integer":
        return type(value) is int and -(limit := _INTEGERS.get(schema.format, 1 << 63)) <= value < limit
    if kind == "boolean":
        return type(value) is bool
    if kind == "number":
        return type(value) is int or type(value) is float
    return True


def _is_clean_object(value: Document, schema: Schema) -> bool:
    properties = schema.properties
    if properties is None:
        values = schema.values
        if values is None:
            return schema.preserve_unknown or not value
        if values.type == "string" and not values.int_or_string and not values.format:
            return all([type(item) is str or item is None for item in value.values()])
        return all([is_clean(item, values) for item in value.values()])
    for key, item in value.items():
        field = properties.get(key)
        if field is None:
            if not _admits_unknown(schema, key):
                return False
        elif (type(item) is not str or field.type != "string") and not is_clean(item, field):
            return False
    return True


def _is_other_text(value: Any, schema: Schema) -> bool:
    """Quantities and int-or-string fields also take numbers."""
    if schema.int_or_string or schema.format == "quantity":
        return type(value) is int or (type(value) is float and schema.format == "quantity")
    return False


def _admits_unknown(schema: Schema, key: str) -> bool:
    return schema.preserve_unknown or (schema.embedded and key in TYPE_META)


# --- unknown fields ------------------------------------------------------------------------------------------


def unknown_fields(document: Document, schema: Schema) -> list[str]:
    """The paths of fields that the schema does not know, in the document's order."""
    return [path for path, _, _ in _unknown(document, schema, "")]


def prune(document: Document, schema: Schema) -> None:
    """Drops the fields that the schema does not know, in place."""
    for _, parent, key in list(_unknown(document, schema, "")):
        del parent[key]


def _unknown(value: Any, schema: Schema, path: str) -> Iterator[tuple[str, Document, str]]:
    """(path, the object it stands in, its key) of every unknown field."""
    if type(value) is dict:
        properties = schema.properties or {}
        for key, item in value.items():
            field = properties.get(key, schema.values)
            here = f"{path}.{key}" if path else key
            if field is not None:
                yield from _unknown(item, field, here)
            elif (schema.type == "object" or properties) and not _admits_unknown(schema, key):
                yield here, value, key
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            yield from _unknown(item, schema.items, f"{path}[{index}]")


# --- types ---------------------------------------------------------------------------------------------------


def type_error(document: Document, schema: Schema) -> str | None:
    """The first value that a built-in kind cannot take, as a real server's decoder tells it."""
    return next(_type_errors(document, schema, ""), None)


def _type_errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if value is None:
        return
    if type(value) is dict and schema.type == "object":
        properties = schema.properties or {}
        for key, item in value.items():
            field = properties.get(key, schema.values)
            if field is not None:
                yield from _type_errors(item, field, f"{path}.{key}" if path else key)
    elif type(value) is list and schema.type == "array":
        if schema.items is not None:
            for index, item in enumerate(value):
                yield from _type_errors(item, schema.items, f"{path}[{index}]")
    elif not is_clean(value, schema):
        yield f"json: cannot unmarshal {_json_type(value)} into Go struct field {path} of type {_go_type(schema)}"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return f"number {value}"
    return "array" if isinstance(value, list) else "object"


def _go_type(schema: Schema) -> str:
    if schema.type == "array":
        return "[]" + (_go_type(schema.items) if schema.items is not None else "interface {}")
    if schema.type == "object":
        return schema.name or "map[string]" + (
            _go_type(schema.values) if schema.values is not None else "interface {}"
        )
    return schema.format if schema.format in _INTEGERS else _GO_TYPES.get(schema.type, schema.type)


# --- defaults ------------------------------------------------------------------------------------------------


def apply_defaults(document: Any, schema: Schema) -> None:
    """Fills in a custom resource's defaults in place.

    A field is filled in where its parent is there and it is not, or where it is null and must not be.
    """
    if type(document) is dict:
        for key, field in (schema.properties or {}).items():
            value = document.get(key, msgspec.UNSET)
            if value is msgspec.UNSET or (value is None and not field.nullable):
                if field.default is not msgspec.UNSET:
                    document[key] = copy.deepcopy(field.default)
                elif value is None:
                    del document[key]
            apply_defaults(document.get(key), field)
        if schema.values is not None:
            known = schema.properties or {}
            for key, value in document.items():
                if key not in known:
                    apply_defaults(value, schema.values)
    elif type(document) is list and schema.items is not None:
        for item in document:
            apply_defaults(item, schema.items)
