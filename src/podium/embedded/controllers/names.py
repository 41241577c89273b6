"""Names of what controllers create: derived, never drawn.

A name is a hash of its owner's UID and of what distinguishes this object from its sisters, so a create that is
repeated after a lost answer meets its own first try (409) instead of making a second object.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from podium.kube.cache import Cache
from podium.kube.hashes import SUFFIX_LENGTH, short_hash
from podium.kube.resources import Resource

LONGEST_NAME = 63  # a pod's name becomes its host name
HASH_LABEL = "pod-template-hash"


def generated_names(base: str, taken: Container[str], *seed: object) -> Iterator[str]:
    """Free names `<base><5 letters>` one after the other; `base` ends with its dash and is cut to fit."""
    base = base[: LONGEST_NAME - SUFFIX_LENGTH]
    attempt = 0
    while True:
        name = base + short_hash(*seed, attempt)
        attempt += 1
        if name not in taken:
            yield name


class NamesIn:
    """The names that a namespace holds, those of terminating objects included, or held not long ago."""

    def __init__(self, cache: Cache, resource: Resource, namespace: str) -> None:
        self._cache, self._resource, self._namespace = cache, resource, namespace

    def __contains__(self, name: object) -> bool:
        place = (self._resource, self._namespace, str(name))
        return self._cache.get(*place) is not None or self._cache.vacated(*place)


def sisters_seed(owner_uid: str, sisters: Iterable[str]) -> str:
    """A seed for new names that differs whenever the owner's present objects (their UIDs) do.

    So the replacement of a deleted pod does not come back under the very name that was deleted, while the same
    observation always gives the same name.
    """
    return short_hash(owner_uid, *sorted(sisters), length=16)


@lru_cache(maxsize=4096)
def template_identity(raw: bytes) -> str:
    """A text that is equal for equal pod templates: sorted, without nulls and without the hash label."""
    template = _without_nulls(msgspec.json.decode(raw))
    labels = template.get("metadata", {}).get("labels", {})
    labels.pop(HASH_LABEL, None)
    if not labels:
        template.get("metadata", {}).pop("labels", None)
    if not template.get("metadata"):
        template.pop("metadata", None)
    return msgspec.json.encode(template, order="sorted").decode()


def template_hash(raw: bytes, collisions: int | None) -> str:
    """What distinguishes the objects made from one template from those of another."""
    return short_hash(template_identity(raw), collisions or "", length=10)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
