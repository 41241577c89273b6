"""What has been observed, as admission hooks look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec

from podium.kube.admission import Facet
from podium.kube.cache import Cache, key_of
from podium.kube.resources import Resource
from podium.kube.wire import Object

Document = dict[str, Any]


class Observed:
    """A cache as whole documents, as far as its views go."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        found = self._cache.get(resource, namespace, name)
        return _document(found) if found is not None else None

    def all(self, resource: Resource) -> Iterator[Document]:
        return (_document(each) for each in self._cache.all(resource))

    def having(self, resource: Resource, facet: Facet, value: str) -> Iterator[Document]:
        found = sorted(self._cache.having(resource, _of_objects(facet), value), key=key_of)
        return (_document(each) for each in found)


@cache
def _of_objects(facet: Facet) -> Callable[[Object], Iterable[str]]:
    """What a function says of documents, of objects.  The same one each time: the cache's index goes by it."""
    return lambda obj: facet(_document(obj))


def _document(obj: Object) -> Document:
    decoded: Document = msgspec.json.decode(msgspec.json.encode(obj))
    return decoded
