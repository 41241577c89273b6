"""Keys that stand twice in one object of a body: the last one counts, and strict clients want to know."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from podium.kube import yaml_loading

MOST = 100  # complaints of a sort: nobody reads more


class _Pairs(list[tuple[str, Any]]):
    """An object with every key that stands in it, in the order of the text."""


def doubled_keys(body: bytes, document: Any) -> list[str]:
    """What is to be said of doubled keys, in the order in which they are met.

    A body without any is as long as its document encoded anew, if it came compact, as client libraries send it.
    Only where the lengths differ it is read a second time.
    """
    if len(msgspec.json.encode(document)) == len(body):
        return []
    try:
        read = json.loads(body, object_pairs_hook=_Pairs)
    except ValueError:  # it is YAML
        doubled = yaml_loading.doubled_keys(body)
        lines = "".join(f'\n  line {line}: key "{key}" already set in map' for line, key in doubled[:MOST])
        return [f"yaml: unmarshal errors:{lines}"] if doubled else []
    seen: set[str] = set()
    found: dict[str, None] = {}
    for path in _paths(read, ""):
        if path in seen:
            found[path] = None
        seen.add(path)
    return [f'duplicate field "{path}"' for path in itertools.islice(found, MOST)]


def in_order(body: bytes, doubled: list[str], unknown: list[str]) -> list[str]:
    """Both complaints about an object of a built-in kind as its decoder meets them.

    What is unknown is skipped by it: of doubled keys in there it does not know.
    """
    unknown = unknown[:MOST]
    strange = [f'unknown field "{path}"' for path in unknown]
    try:
        read = json.loads(body, object_pairs_hook=_Pairs) if doubled and unknown else None
    except ValueError:
        read = None
    if read is None:
        return doubled + strange
    moments: dict[str, int] = {}
    count = itertools.count()
    met: set[str] = set()
    for path in _paths(read, ""):
        word = "duplicate" if path in met else "unknown"
        met.add(path)
        moments.setdefault(f'{word} field "{path}"', next(count))
    inside = tuple(f'duplicate field "{path}{end}' for path in unknown for end in ('"', ".", "["))
    reported = [each for each in doubled if not each.startswith(inside)] + strange
    return sorted(reported, key=lambda each: moments.get(each, 0))


def _paths(value: Any, path: str) -> Iterator[str]:
    """The path of every key, in the order of the text; a doubled one comes twice."""
    if isinstance(value, _Pairs):
        for key, item in value:
            here = f"{path}.{key}" if path else key
            yield here
            yield from _paths(item, here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, f"{path}[{index}]")
