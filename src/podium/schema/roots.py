"""The schemas of whole custom resources: what a definition says of its objects, and what all objects have.

A server is given the same few definitions at every start, and a process with virtual clusters starts many servers,
so what was read from a schema is kept for the next one with the same text.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from podium.schema.builtin import type_named
from podium.schema.codec import parse
from podium.schema.model import Schema

Document = dict[str, Any]

_KEPT = 64


class _Read(msgspec.Struct):
    schema: Schema
    sound: bool = False  # whether somebody has found nothing wrong with it


_recent: dict[bytes, _Read] = {}  # by the digest of the text; the one that was asked for last is the last


def root_schema(openapi: Document) -> Schema:
    """The schema of a (well formed) definition.  It need not say what every object has, and cannot change it."""
    return _read(openapi).schema


def is_sound(openapi: Document) -> bool:
    """Whether an equal schema has been found to be without problems."""
    found = _recent.get(_digest(openapi))
    return found is not None and found.sound


def note_sound(openapi: Document) -> None:
    _read(openapi).sound = True


def _read(openapi: Document) -> _Read:
    key = _digest(openapi)
    found = _recent.pop(key, None) or _Read(_whole(parse(openapi)))
    _recent[key] = found
    if len(_recent) > _KEPT:
        del _recent[next(iter(_recent))]
    return found


def _digest(openapi: Document) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(openapi)).digest()


def _whole(schema: Schema) -> Schema:
    schema.properties = {
        **(schema.properties or {}),
        "apiVersion": Schema(type="string"),
        "kind": Schema(type="string"),
        "metadata": type_named("ObjectMeta"),
    }
    return schema
