"""What an API server does to a document before anybody looks at its values: unknown fields, pruning, types.

This stands in the way of every write, so it is done in two speeds.  A schema is compiled once to a plain yes/no
function; nearly every document gets a yes, for some ten microseconds, and nothing else happens.  Only after a no
the schema is walked again, slowly, to say what is wrong and where.

Two callers share it.  Built-in kinds get the message of a real server's decoder for a type mismatch
(`type_error`); custom resources have their types checked with their values (`validate`).  The document itself and
every embedded resource always have apiVersion, kind and metadata, whatever their schema says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.schema.defaulting import apply_defaults
from podium.schema.mismatch import first_mismatch
from podium.schema.mismatch import metadata_mismatch as metadata_type_error
from podium.schema.model import Schema
from podium.schema.shape import checker, meant, members_of
from podium.schema.values import validate

__all__ = [
    "apply_defaults",
    "is_clean",
    "metadata_type_error",
    "prepare",
    "prune",
    "type_error",
    "unknown_fields",
    "validate",
]

Document = dict[str, Any]


def is_clean(document: Document, schema: Schema) -> bool:
    """Whether every field is known and of its type: fast, and nearly always all there is to ask."""
    return checker(schema, True)(document)


def prepare(document: Document, schema: Schema) -> tuple[list[str], str | None]:
    """What `unknown_fields` and `type_error` say, in one go."""
    if is_clean(document, schema):
        return [], None
    return _unknown(document, schema, True), first_mismatch(document, schema)


def unknown_fields(document: Document, schema: Schema, *, resource: bool = True) -> list[str]:
    """Paths of fields the schema does not know, such as `spec.containers[0].foo`, in the document's order.

    `resource` says that the document is a whole object, which has apiVersion, kind and metadata.
    """
    if checker(schema, resource)(document):
        return []
    return _unknown(document, schema, resource)


def prune(document: Document, schema: Schema, *, resource: bool = True) -> None:
    """Removes in place what `unknown_fields` names."""
    for container, key, _ in list(_strangers(document, schema, resource, "")):
        del container[key]


def type_error(document: Document, schema: Schema) -> str | None:
    """The first value of a wrong type, in the words of a decoder of built-in kinds; null is right everywhere."""
    if is_clean(document, schema):
        return None
    return first_mismatch(document, schema)


def _unknown(document: Document, schema: Schema, resource: bool) -> list[str]:
    return [path for _, _, path in _strangers(document, schema, resource, "")]


def _strangers(value: Any, schema: Schema, resource: bool, path: str) -> Iterator[tuple[Document, str, str]]:
    """Every unknown field: the object it stands in, its key and its path."""
    schema = meant(value, schema)
    if isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from _strangers(item, schema.items, schema.items.embedded, f"{path}[{index}]")
    if not isinstance(value, dict) or not (schema.type == "object" or schema.properties or resource):
        return
    members = members_of(schema, resource)
    for key, item in value.items():
        member = members.get(key, schema.values)
        here = f"{path}.{key}" if path else key
        if member is not None:
            yield from _strangers(item, member, member.embedded, here)
        elif not schema.preserve_unknown:
            yield value, key, here
