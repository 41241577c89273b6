"""Whether the values of a custom resource are what its definition allows, told in the API server's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from podium.kube import fields
from podium.kube.fields import FieldError
from podium.kube.schema import formats
from podium.kube.schema.model import Schema

_JSON_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def validate(document: Any, schema: Schema, path: str = "", old: Any = None) -> list[FieldError]:
    """Everything that is wrong with a document.  `old` is what it replaces, for rules that compare the two.

    Rules in CEL are asked only of documents that are otherwise right: they rely on the types.
    """
    errors = list(_check(document, schema, path))
    if errors or not schema.ruled:
        return errors
    from podium.kube.schema import cel  # a large library that few definitions need

    return cel.check_rules(document, old, schema, path)


def _check(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if value is None and schema.nullable:
        return
    wrong = _check_type(value, schema, path)
    if wrong is not None:
        yield wrong
        return
    if schema.enum and value not in schema.enum:
        yield fields.unsupported(path, value, schema.enum)
    if isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list):
        yield from _check_array(value, schema, path)
    elif isinstance(value, str):
        yield from _check_string(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(value, schema, path)
    yield from _check_combinations(value, schema, path)


def _check_type(value: Any, schema: Schema, path: str) -> FieldError | None:
    if schema.int_or_string:
        return None if type(value) in (int, str) else _type_error(path, value, "integer,string")
    wanted = schema.type
    found = _JSON_TYPES.get(type(value), "null")
    if not wanted or found == wanted:
        return None
    if wanted == "number" and found == "integer":
        return None
    if wanted == "integer" and found == "number" and float(value).is_integer():
        return None
    return _type_error(path, value, wanted)


def _type_error(path: str, value: Any, wanted: str) -> FieldError:
    found = _JSON_TYPES.get(type(value), "null")
    return fields.wrong_type(path, found, f'{path} in body must be of type {wanted}: "{found}"')


def _check_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[FieldError]:
    properties = schema.properties or {}
    for key in schema.required:
        if key not in value:
            yield fields.required(_join(path, key))
    for key, item in value.items():
        field = properties.get(key, schema.values)
        if field is not None:
            yield from _check(
                item, field, _join(path, key) if key in properties else f"{path}[{key}]" if path else key
            )
    if schema.min_properties is not None and len(value) < schema.min_properties:
        yield _invalid(path, len(value), f"should have at least {schema.min_properties} properties")
    if schema.max_properties is not None and len(value) > schema.max_properties:
        yield fields.too_many(path, len(value), schema.max_properties)


def _check_array(value: list[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.max_items is not None and len(value) > schema.max_items:
        yield fields.too_many(path, len(value), schema.max_items)
    if schema.min_items is not None and len(value) < schema.min_items:
        yield _invalid(path, len(value), f"should have at least {schema.min_items} items")
    if schema.items is not None:
        for index, item in enumerate(value):
            yield from _check(item, schema.items, f"{path}[{index}]")
    if schema.unique_items or schema.list_type in ("set", "map"):
        yield from _check_unique(value, schema, path)


def _check_unique(value: list[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        identity = item
        if schema.list_type == "map" and isinstance(item, dict):
            defaults = schema.items.properties or {} if schema.items is not None else {}
            identity = {key: item.get(key, _default(defaults.get(key))) for key in schema.list_keys}
        mark = msgspec.json.encode(identity, order="deterministic")
        if mark in seen:
            yield fields.duplicate(f"{path}[{index}]", identity)
        seen.add(mark)


def _default(schema: Schema | None) -> Any:
    return None if schema is None or schema.default is msgspec.UNSET else schema.default


def _check_string(value: str, schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.max_length is not None and len(value) > schema.max_length:
        yield fields.too_long(path, schema.max_length)
    if schema.min_length is not None and len(value) < schema.min_length:
        yield _invalid(path, value, f"should be at least {schema.min_length} chars long")
    if schema.pattern and not _pattern(schema.pattern).search(value):
        yield _invalid(path, value, f"should match '{schema.pattern}'")
    if schema.format and not formats.is_valid(schema.format, value):
        yield fields.invalid(path, value, f"{path} in body must be of type {schema.format}: {fields.show(value)}")


def _check_number(value: float, schema: Schema, path: str) -> Iterator[FieldError]:
    low, high = schema.minimum, schema.maximum
    if low is not None and (value < low or (schema.exclusive_minimum and value == low)):
        what = "greater than" if schema.exclusive_minimum else "greater than or equal to"
        yield _invalid(path, value, f"should be {what} {_number(low)}")
    if high is not None and (value > high or (schema.exclusive_maximum and value == high)):
        what = "less than" if schema.exclusive_maximum else "less than or equal to"
        yield _invalid(path, value, f"should be {what} {_number(high)}")
    if schema.multiple_of and value % schema.multiple_of:
        yield _invalid(path, value, f"should be a multiple of {_number(schema.multiple_of)}")
    limit = {"int32": 1 << 31, "int64": 1 << 63}.get(schema.format)
    if limit is not None and not -limit <= value < limit:
        yield fields.invalid(path, value, f"{path} in body must be of type {schema.format}: {fields.show(value)}")


def _check_combinations(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    for part in schema.all_of:
        yield from _check(value, part, path)
    if schema.any_of and not any(_passes(value, part) for part in schema.any_of):
        yield _invalid(path, value, "must validate at least one schema (anyOf)")
    if schema.one_of and sum(_passes(value, part) for part in schema.one_of) != 1:
        yield _invalid(path, value, "must validate one and only one schema (oneOf)")
    if schema.negated is not None and _passes(value, schema.negated):
        yield _invalid(path, value, "must not validate the schema (not)")


def _passes(value: Any, schema: Schema) -> bool:
    return next(_check(value, schema, ""), None) is None


def _invalid(path: str, value: Any, what: str) -> FieldError:
    shown = value if isinstance(value, str | int | float) else _JSON_TYPES.get(type(value), "null")
    return fields.invalid(path or "<nil>", shown, f"{path} in body {what}".lstrip())


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


@lru_cache(maxsize=512)
def _pattern(text: str) -> re.Pattern[str]:
    """A schema's pattern.  One that Python cannot read matches everything: it was accepted with its definition."""
    try:
        return re.compile(text)
    except re.error:
        return re.compile("")
