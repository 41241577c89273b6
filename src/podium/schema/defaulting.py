"""Defaults of custom resources, by the rules of structural schemas.

A default fills a key that is absent, or null where null is not allowed; it never creates the object around it,
unless that object has a default itself.  A null that is neither allowed nor replaced by a default is dropped, as
if it had not been sent.  (The built-in kinds have rules of their own, see `filling`.)
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from podium.schema.model import Schema


def apply_defaults(value: Any, schema: Schema) -> None:
    """Fills the defaults in below `value`, in place."""
    if isinstance(value, dict):
        _fill_object(value, schema)
    elif isinstance(value, list) and schema.items is not None:
        items = schema.items
        for index, item in enumerate(value):
            if item is None and _replaces_null(items):
                value[index] = item = copy.deepcopy(items.default)
            apply_defaults(item, items)


def has_defaults(schema: Schema) -> bool:
    """Whether there is a default anywhere below a custom resource's schema."""
    members = [*(schema.properties or {}).values(), schema.items, schema.values]
    return any(
        member.default is not msgspec.UNSET or has_defaults(member)
        for member in members
        if member is not None and not member.name
    )


def _fill_object(value: dict[str, Any], schema: Schema) -> None:
    members = schema.properties or {}
    for key, member in members.items():
        if member.default is not msgspec.UNSET and (
            key not in value or (value[key] is None and not member.nullable)
        ):
            value[key] = copy.deepcopy(member.default)
    for key in list(value):
        inner = members.get(key, schema.values)
        if inner is None:
            continue
        if value[key] is None and not inner.nullable:
            if inner.default is not msgspec.UNSET:
                value[key] = copy.deepcopy(inner.default)
            elif inner.type or inner.int_or_string:
                del value[key]
                continue
        apply_defaults(value[key], inner)


def _replaces_null(schema: Schema) -> bool:
    return schema.default is not msgspec.UNSET and not schema.nullable
