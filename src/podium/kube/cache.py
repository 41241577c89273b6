"""What has been observed: objects by key, newest version wins, with the few indexes that everybody asks for.

Two streams feed a cache: watch events, and the answers to one's own writes.  The second makes a controller see
what it has just done without waiting for the watch; the version check makes the order of arrival harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from podium.kube.resources import Resource
from podium.kube.wire import Object, Pod

Key = tuple[str, str]  # namespace ("" for cluster-scoped), name

T = TypeVar("T", bound=Object)


def key_of(obj: Object) -> Key:
    return obj.metadata.namespace, obj.metadata.name


def version_of(obj: Object) -> int:
    """A resource version as a number.  Since Kubernetes 1.35 clients may compare them within one resource."""
    text = obj.metadata.resource_version
    return int(text) if text.isdigit() else 0


class Cache:
    """All observed objects of the resources somebody watches."""

    def __init__(self) -> None:
        self._objects: dict[Resource, dict[Key, Object]] = {}
        self._by_owner: dict[str, set[tuple[Resource, Key]]] = {}
        self._by_node: dict[str, set[Key]] = {}
        self._by_namespace: dict[tuple[Resource, str], set[Key]] = {}

    def apply(self, resource: Resource, obj: Object) -> Object | None:
        """Takes an added or changed object in.  Returns what stood there; the same object if `obj` was stale."""
        objects = self._objects.setdefault(resource, {})
        key = key_of(obj)
        old = objects.get(key)
        if old is not None:
            if version_of(old) >= version_of(obj):
                return obj
            self._unindex(resource, key, old)
        objects[key] = obj
        self._index(resource, key, obj)
        return old

    def remove(self, resource: Resource, key: Key) -> Object | None:
        """Takes an object out; returns it."""
        old = self._objects.get(resource, {}).pop(key, None)
        if old is not None:
            self._unindex(resource, key, old)
        return old

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def all(self, resource: Resource) -> Iterable[Object]:
        return self._objects.get(resource, {}).values()

    def count(self, resource: Resource) -> int:
        return len(self._objects.get(resource, ()))

    def in_namespace(self, resource: Resource, namespace: str) -> Iterator[Object]:
        objects = self._objects.get(resource, {})
        for key in sorted(self._by_namespace.get((resource, namespace), ())):
            yield objects[key]

    def owned_by(self, uid: str, resource: Resource | None = None) -> Iterator[tuple[Resource, Object]]:
        """Objects with an owner reference to `uid`, in a stable order."""
        found = self._by_owner.get(uid, ())
        for each, key in sorted(found, key=lambda pair: (pair[0].plural, pair[1])):
            if resource is None or each == resource:
                yield each, self._objects[each][key]

    def pods_on(self, node: str) -> Iterator[Pod]:
        """Pods whose spec.nodeName is `node`, in a stable order."""
        from podium.kube.resources import PODS

        objects = self._objects.get(PODS, {})
        for key in sorted(self._by_node.get(node, ())):
            pod = objects[key]
            assert isinstance(pod, Pod)
            yield pod

    def _index(self, resource: Resource, key: Key, obj: Object) -> None:
        for owner in obj.metadata.owner_references or ():
            self._by_owner.setdefault(owner.uid, set()).add((resource, key))
        if key[0]:
            self._by_namespace.setdefault((resource, key[0]), set()).add(key)
        if isinstance(obj, Pod) and obj.spec.node_name:
            self._by_node.setdefault(obj.spec.node_name, set()).add(key)

    def _unindex(self, resource: Resource, key: Key, obj: Object) -> None:
        for owner in obj.metadata.owner_references or ():
            _discard(self._by_owner, owner.uid, (resource, key))
        if key[0]:
            _discard(self._by_namespace, (resource, key[0]), key)
        if isinstance(obj, Pod) and obj.spec.node_name:
            _discard(self._by_node, obj.spec.node_name, key)


K = TypeVar("K")
V = TypeVar("V")


def _discard(index: dict[K, set[V]], key: K, value: V) -> None:
    """Drops a value and, with its last one, the entry: an index must not grow with what has been."""
    values = index.get(key)
    if values is not None:
        values.discard(value)
        if not values:
            del index[key]
