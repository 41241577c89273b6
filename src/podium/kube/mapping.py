"""From an observed object to the keys that it may concern: the mappers that several controllers use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podium.kube.cache import Cache, Key, key_of
from podium.kube.controller import Mapper
from podium.kube.resources import Resource
from podium.kube.selectors import LabelMatch
from podium.kube.wire import Object

SelectorOf = Callable[[Object], LabelMatch]


def itself(obj: Object, cache: Cache) -> Iterable[Key]:
    return (key_of(obj),)


def nobody(obj: Object, cache: Cache) -> Iterable[Key]:
    """For what is looked up and moves nothing by itself."""
    return ()


def controlled_by(owner: Resource) -> Mapper:
    """To the controller of an object, when it is of this kind."""

    def mapper(obj: Object, cache: Cache) -> Iterable[Key]:
        reference = obj.metadata.controller
        if reference is not None and reference.kind == owner.kind and reference.api_version == owner.api_version:
            return ((obj.namespace, reference.name),)
        return ()

    return mapper


def controlled_or_selected_by(owner: Resource, select: SelectorOf) -> Mapper:
    """The same; an object without a controller concerns all of its namespace that select it, to be adopted."""
    controlled = controlled_by(owner)

    def mapper(obj: Object, cache: Cache) -> Iterable[Key]:
        if obj.metadata.controller is None:
            return selected_by(owner, select)(obj, cache)
        return controlled(obj, cache)

    return mapper


def selected_by(owner: Resource, select: SelectorOf) -> Mapper:
    """To all objects of a kind in the same namespace whose selector matches the object's labels."""

    def mapper(obj: Object, cache: Cache) -> Iterator[Key]:
        for each in cache.in_namespace(owner, obj.namespace):
            if select(each)(obj.labels):
                yield key_of(each)

    return mapper
