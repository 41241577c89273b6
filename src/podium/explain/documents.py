"""The whole objects that a model was made from: as a server listed them, or as a scheduler knows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import msgspec

from podium.engine.world import World
from podium.kube.cache import Key
from podium.kube.resources import Resource
from podium.kube.wire import Object

Document = dict[str, Any]
Objects = Mapping[Resource, Sequence[bytes | msgspec.Raw]]  # as a server answered: each object encoded


class Documents(Protocol):
    """Objects as they were when the model was made, whatever is tried on it."""

    @property
    def resources(self) -> Iterable[Resource]:
        """The kinds that were read."""

    def all(self, resource: Resource) -> list[Document]:
        """All objects of a kind that was read."""

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """One of them."""

    def keep(self, resource: Resource, namespace: str, name: str) -> None:
        """It is about to be changed on trial: `find` goes on to give it as it was."""


class Listed:
    """Objects as a server listed them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._index: dict[Resource, dict[Key, int]] = {}

    @property
    def resources(self) -> Iterable[Resource]:
        return self._objects

    def all(self, resource: Resource) -> list[Document]:
        return [msgspec.json.decode(each) for each in self._objects.get(resource, ())]

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        if resource not in self._index:
            keys = ((each.metadata.namespace, each.metadata.name) for each in self._heads(resource))
            self._index[resource] = {key: number for number, key in enumerate(keys)}
        number = self._index[resource].get((namespace, name))
        return None if number is None else msgspec.json.decode(self._objects[resource][number])

    def keep(self, resource: Resource, namespace: str, name: str) -> None:
        return  # nothing that is tried changes what was listed

    def _heads(self, resource: Resource) -> Iterator[Object]:
        decoder = msgspec.json.Decoder(Object)
        return (decoder.decode(each) for each in self._objects.get(resource, ()))


class Known:
    """What a scheduler knows of objects: the fields that podium reads."""

    def __init__(self, world: World, also: Objects) -> None:
        """`also` are objects of kinds that it does not look at."""
        self._world = world
        self._also = Listed(also)
        self._kept: dict[tuple[Resource, str, str], Object | None] = {}  # how they were before anything was tried

    @property
    def resources(self) -> Iterable[Resource]:
        return (*self._world.resources, *self._also.resources)

    def all(self, resource: Resource) -> list[Document]:
        if resource in self._also.resources:
            return self._also.all(resource)
        return [written(each) for each in self._world.cache.all(resource)]

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        place = resource, namespace, name
        obj = self._kept[place] if place in self._kept else self._world.cache.get(*place)
        return self._also.find(*place) if obj is None else written(obj)

    def keep(self, resource: Resource, namespace: str, name: str) -> None:
        self._kept.setdefault((resource, namespace, name), self._world.cache.get(resource, namespace, name))


def written(view: Object) -> Document:
    """A view as the document that it was read from, as far as it goes: what is not said there is left out."""
    document: Document = _written(view)
    return document


def _written(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        pairs = ((key, getattr(value, name), default) for name, key, default in _fields(type(value)))
        return {key: _written(each) for key, each, default in pairs if each is not None and each != default}
    if isinstance(value, dict):
        return {key: _written(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_written(each) for each in value]
    return value


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Attribute, name in the document, and default of each field."""
    return tuple((each.name, each.encode_name, each.default) for each in msgspec.structs.fields(struct))
