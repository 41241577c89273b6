"""Keys that stand twice in one object of a JSON body: the last one counts, and strict clients want to know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec


class _Noted(dict[str, Any]):
    """An object with the keys that stood in it more than once."""

    doubled: tuple[str, ...] = ()


def doubled_keys(body: bytes, document: Any) -> list[str]:
    """The paths of doubled keys.

    A body without any is as long as its document encoded anew, if it came compact, as client libraries send it.
    Only where the lengths differ it is read a second time.
    """
    if len(msgspec.json.encode(document)) == len(body):
        return []
    try:
        return list(_paths(json.loads(body, object_pairs_hook=_note), ""))
    except ValueError:
        return []  # not JSON: YAML has refused doubled keys already, or has not


def _note(pairs: list[tuple[str, Any]]) -> _Noted:
    noted = _Noted(pairs)
    if len(noted) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        noted.doubled = tuple(key for key, count in counts.items() if count > 1)
    return noted


def _paths(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Noted):
        for key in value.doubled:
            yield f"{path}.{key}" if path else key
        for key, item in value.items():
            yield from _paths(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, f"{path}[{index}]")
