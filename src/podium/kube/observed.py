"""What has been observed, as admission hooks look at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from podium.kube.cache import Cache
from podium.kube.resources import Resource

Document = dict[str, Any]


class Observed:
    """A cache as whole documents, as far as its views go."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        found = self._cache.get(resource, namespace, name)
        return msgspec.json.decode(msgspec.json.encode(found)) if found is not None else None

    def all(self, resource: Resource) -> Iterator[Document]:
        return (msgspec.json.decode(msgspec.json.encode(each)) for each in self._cache.all(resource))
