"""Static defaults of the built-in kinds, filled in as an API server's own decoding leaves them.

A built-in object is not a CRD's: the server reads it into structs, where null, an empty string and an absent key
are the same, and it prints quantities in their canonical form.  So here null is dropped, a string's default
replaces "" too, a number's default replaces 0 where the table says that 0 is too small, and quantities are made
canonical.

Of a schema only those branches are walked that have a default or a quantity in them; which ones these are is found
out once per type.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube.quantity import QuantityError, canonical, canonical_resource
from podium.schema.model import Schema
from podium.schema.shape import ANY, meant

Document = dict[str, Any]

_CONTAINERS = (dict, list)
_encode = msgspec.json.Encoder().encode


class _Plan:
    """What to do in one type's objects; the tuples hold keys with the plan of what stands there."""

    __slots__ = ("amounts", "defaults", "lists", "maps", "quantities", "structs")

    def __init__(self) -> None:
        self.defaults: list[
            tuple[str, Any, Any, bool]
        ] = []  # key, default, the value that counts as absent, copy?
        self.structs: list[tuple[str, _Plan]] = []
        self.lists: list[tuple[str, _Plan]] = []
        self.maps: list[tuple[str, _Plan]] = []
        self.amounts: list[str] = []  # maps of quantities: requests, capacity
        self.quantities: list[str] = []

    def __bool__(self) -> bool:
        return any(getattr(self, part) for part in self.__slots__)


_plans: dict[int, tuple[Schema, _Plan]] = {}


def fill(document: Document, schema: Schema) -> None:
    """Fills a document's absent fields in place.  Types must have been checked before."""
    known = _plans.get(id(schema))
    if known is None:
        # The schema is kept beside its plan, so that its id stays its own.
        known = _plans[id(schema)] = (schema, _planned(schema, []))
    _fill(document, known[1])


def drop_nulls(document: Document, schema: Schema) -> None:
    """Removes every null inside, in place, as reading into structs does.

    A field is as good as absent then; an item of a list, or a value of a map, becomes the empty one of its type.
    JSON of other people, as in a CRD's defaults, is left as it is: there null is a value.
    """
    # Encoding is ten times as fast as a walk, and few documents have a null.
    if b"null" in _encode(document):
        _drop_nulls(document, schema)


def _drop_nulls(value: Any, schema: Schema) -> None:
    schema = meant(value, schema)
    if schema.preserve_unknown:
        return
    if type(value) is list:
        inner = schema.items or ANY
        for index, item in enumerate(value):
            if item is None:
                value[index] = _nothing(inner)
            elif type(item) in _CONTAINERS:
                _drop_nulls(item, inner)
        return
    fields, others = schema.properties or {}, schema.values
    for key, item in list(value.items()):
        inner = fields.get(key) or others or ANY
        if item is not None:
            if type(item) in _CONTAINERS:
                _drop_nulls(item, inner)
        elif key in fields or others is None:
            del value[key]
        else:
            value[key] = _nothing(others)


def _nothing(schema: Schema) -> Any:
    """What a struct has where nothing was said."""
    if schema.format == "quantity":
        return "0"
    if schema.int_or_string or schema.type in ("integer", "number"):
        return 0
    return {"string": "", "boolean": False, "array": [], "object": {}}.get(schema.type)


def _planned(schema: Schema, above: list[Schema]) -> _Plan:
    plan = _Plan()
    if schema.properties is None or any(schema is outer for outer in above):
        # Inside itself a type is not looked into again: the only such type, a CRD's schema, has no defaults.
        return plan
    above = [*above, schema]
    for key, field in schema.properties.items():
        if field.default is not msgspec.UNSET:
            plan.defaults.append((key, field.default, _zero(field), isinstance(field.default, _CONTAINERS)))
        if field.if_object is not None:
            continue  # part of a CRD's schema as well
        if field.format == "quantity":
            plan.quantities.append(key)
        elif field.properties is not None:
            _add(plan.structs, key, field, above)
        elif field.items is not None:
            _add(plan.lists, key, field.items, above)
        elif field.values is not None:
            if field.values.format == "quantity":
                plan.amounts.append(key)
            else:
                _add(plan.maps, key, field.values, above)
    return plan


def _add(parts: list[tuple[str, _Plan]], key: str, schema: Schema, above: list[Schema]) -> None:
    plan = _planned(schema, above)
    if plan:
        parts.append((key, plan))


def _zero(field: Schema) -> Any:
    if field.type == "string":
        return ""
    return 0 if field.minimum is not None and field.minimum > 0 else None


def _fill(document: Document, plan: _Plan) -> None:
    get = document.get
    for key, default, zero, copied in plan.defaults:
        value = get(key)
        if value is None or value == zero:
            document[key] = default.copy() if copied else default
    for key, inner in plan.structs:
        value = get(key)
        if value is not None:
            _fill(value, inner)
    for key, inner in plan.lists:
        for value in get(key) or ():
            _fill(value, inner)
    for key, inner in plan.maps:
        for value in (get(key) or {}).values():
            _fill(value, inner)
    for key in plan.amounts:
        amounts = get(key)
        if amounts:
            for name, value in amounts.items():
                amounts[name] = _canonical(value, canonical_resource)
    for key in plan.quantities:
        value = get(key)
        if value is not None:
            document[key] = _canonical(value, canonical)


def _canonical(value: Any, form: Any) -> Any:
    try:
        return form(value)
    except QuantityError:
        return value  # validation names the field
