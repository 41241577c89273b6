"""The fast yes: whether a document has only known fields, all of the right types.

A schema is compiled to a function once, when it is first used.  On the way of every write this is the whole cost
of decoding's checks: a few microseconds for a pod.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.kube.quantity import QuantityError, parse_units
from podium.schema import builtin
from podium.schema.formats import is_byte, is_date_time
from podium.schema.model import Schema

ANY = Schema(preserve_unknown=True)
_TEXT = Schema("string")


def object_meta() -> Schema:
    return builtin.type_named("ObjectMeta")


def members_of(schema: Schema, resource: bool) -> dict[str, Schema]:
    """The fields an object may have, by name; a resource has apiVersion, kind and metadata in any case."""
    declared = schema.properties or {}
    if not resource:
        return declared
    metadata = declared.get("metadata")
    if metadata is None or not metadata.name:
        # A CRD can restrict metadata but never redefine it.
        metadata = object_meta()
    return {"apiVersion": _TEXT, "kind": _TEXT, **declared, "metadata": metadata}


Test = Callable[[Any], bool]
_checkers: dict[tuple[int, bool], tuple[Schema, Test]] = {}
# CRDs come and go; what is dropped here is compiled again when it is needed.
_MOST = 50_000
_TEXTS = frozenset((str, type(None)))


def meant(value: Any, schema: Schema) -> Schema:
    """The type that a value is to be read by: where an object may stand for another type, the value says which."""
    return schema.if_object if schema.if_object is not None and type(value) is dict else schema


def checker(schema: Schema, resource: bool) -> Test:
    """Whether a value has only known fields of right types, as a function; made once for each schema."""
    known = _checkers.get((id(schema), resource))
    if known is not None:
        return known[1]
    if len(_checkers) > _MOST:
        _checkers.clear()
    if schema.if_object is not None:
        return _either_checker(schema)
    if resource or schema.type == "object" or schema.properties is not None:
        return _object_checker(schema, resource)
    test = _value_checker(schema)
    # The schema is kept beside its test, so that its id stays its own.
    _checkers[id(schema), resource] = (schema, test)
    return test


def _either_checker(schema: Schema) -> Test:
    assert schema.if_object is not None
    is_object, is_other = checker(schema.if_object, False), _value_checker(schema)

    def is_either(value: Any) -> bool:
        return is_object(value) if type(value) is dict else is_other(value)

    _checkers[id(schema), False] = (schema, is_either)
    return is_either


def _object_checker(schema: Schema, resource: bool) -> Test:
    if schema.values is not None and schema.properties is None and not resource:
        if _plain_type(schema.values) is str:
            test: Test = _is_map_of_text
        else:
            test = _map_checker(schema)
        _checkers[id(schema), resource] = (schema, test)
        return test
    plain: dict[str, type] = {}
    tests: dict[str, Test] = {}
    other: Test = _yes if schema.preserve_unknown else _no
    get_plain, get_test = plain.get, tests.get

    def is_object(value: Any) -> bool:
        if type(value) is not dict:
            return value is None
        for key, item in value.items():
            expected = get_plain(key)
            if expected is not None:
                if type(item) is not expected and item is not None:
                    return False
            elif not get_test(key, other)(item):
                return False
        return True

    # A type may contain itself: it must be known before its members are compiled.
    _checkers[id(schema), resource] = (schema, is_object)
    for key, member in members_of(schema, resource).items():
        expected = _plain_type(member)
        if expected is not None:
            plain[key] = expected
        else:
            tests[key] = checker(member, member.embedded)
    if schema.values is not None:
        other = checker(schema.values, schema.values.embedded)
    return is_object


def _map_checker(schema: Schema) -> Test:
    values = schema.values or ANY
    test = checker(values, values.embedded)

    def is_map(value: Any) -> bool:
        if type(value) is not dict:
            return value is None
        for item in value.values():  # noqa: SIM110 - a generator costs as much as the test
            if not test(item):
                return False
        return True

    return is_map


def _value_checker(schema: Schema) -> Test:
    if schema.format == "quantity":
        return is_quantity
    if schema.int_or_string:
        return is_int_or_string
    match schema.type:
        case "array":
            return _list_checker(schema.items or ANY)
        case "string":
            check = {"byte": is_byte, "date-time": is_date_time, "micro-time": is_date_time}.get(schema.format)
            if check is None:
                return lambda value: type(value) is str or value is None
            return lambda value: value is None or (type(value) is str and check(value))
        case "integer":
            low, high = integer_range(schema)
            return lambda value: value is None or (type(value) is int and low <= value <= high)
        case "number":
            return lambda value: type(value) in (int, float, type(None))
        case "boolean":
            return lambda value: type(value) is bool or value is None
    return _yes


def _list_checker(items: Schema) -> Test:
    if _plain_type(items) is str:
        return lambda value: value is None or (type(value) is list and _TEXTS.issuperset(map(type, value)))
    test = checker(items, items.embedded)

    def is_list(value: Any) -> bool:
        if type(value) is not list:
            return value is None
        for item in value:  # noqa: SIM110 - as above
            if not test(item):
                return False
        return True

    return is_list


def _plain_type(schema: Schema) -> type | None:
    """The Python type that says all about a value of this schema, if there is one."""
    special = schema.format in ("quantity", "byte", "date-time", "micro-time")
    if special or schema.int_or_string or schema.if_object is not None:
        return None
    return {"string": str, "boolean": bool}.get(schema.type)


def integer_range(schema: Schema) -> tuple[int, int]:
    bits = 31 if schema.format == "int32" else 63
    return -(1 << bits), (1 << bits) - 1


def _yes(value: Any) -> bool:
    return True


def _no(value: Any) -> bool:
    return False


def _is_map_of_text(value: Any) -> bool:
    return value is None or (type(value) is dict and _TEXTS.issuperset(map(type, value.values())))


def is_quantity(value: Any) -> bool:
    if value is None:
        return True
    try:
        parse_units(value)
    except QuantityError:
        return False
    return True


def is_int_or_string(value: Any) -> bool:
    if type(value) is int:
        return -(1 << 31) <= value < 1 << 31
    return type(value) is str or value is None
