"""What has been observed: objects by key, newest version wins, with the few indexes that everybody asks for.

Two streams feed a cache: watch events, and the answers to one's own writes.  The second makes a controller see
what it has just done without waiting for the watch; the version check makes the order of arrival harmless.  One
case it cannot see: an answer that arrives after the watch has shown that the object is gone.  So the cache also
remembers, for a while, the UIDs of what it has buried.

The index by labels is made for a namespace when somebody first selects in it, and kept from then on: a namespace
of 50,000 pods that no Service and no budget selects pays nothing for it.  So is one that a controller brings along
for its own kinds (`having`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from podium.kube.index import Index
from podium.kube.quantity import QuantityError, parse_units
from podium.kube.resources import PERSISTENTVOLUMES, PODS, Resource
from podium.kube.selectors import LabelMatch
from podium.kube.wire import Object, PersistentVolume, PersistentVolumeClaim, Pod

Key = tuple[str, str]  # namespace ("" for cluster-scoped), name
Facet = Callable[[Object], Iterable[str]]  # what is said of an object, by which it can be asked for

T = TypeVar("T", bound=Object)

# Far more than can be deleted while one request is under way.
_GRAVES = 50_000


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
        self._by_claim: dict[Key, set[Key]] = {}
        self._unclaimed: dict[str, list[tuple[int, Key]]] = {}  # by class: size and key, in order
        self._waiting: dict[str | None, set[Key]] = {}  # claims without a volume, by class
        self._promised: dict[Key, set[Key]] = {}
        self._by_label: dict[tuple[Resource, str], dict[tuple[str, str], set[Key]]] = {}
        self._facets: dict[Resource, dict[Facet, Index[Key, Object]]] = {}
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self._synced: set[Resource] = set()
        self._tombstones: OrderedDict[str, None] = OrderedDict()
        self._vacated: OrderedDict[tuple[Resource, Key], None] = OrderedDict()

    def apply(self, resource: Resource, obj: Object) -> Object | None:
        """Takes an added or changed object in.  Returns what stood there; the same object if `obj` was stale."""
        objects = self._objects.get(resource)
        if objects is None:
            objects = self._objects[resource] = {}
            self._resources[resource.group, resource.version, resource.plural] = resource
        key = key_of(obj)
        old = objects.get(key)
        if old is not None:
            known, reported = version_of(old), version_of(obj)
            if known == reported and old == obj:
                objects[key] = obj  # the same once more: those who share a watch then share its objects
            if known >= reported:
                return obj
            self._unindex(resource, key, old)
        objects[key] = obj
        self._index(resource, key, obj)
        for index in self._facets.get(resource, {}).values():
            index.put(key, obj)
        return old

    def knows(self, resource: Resource, obj: Object) -> bool:
        """Whether this version of the object is here already, or a newer one."""
        known = self._objects.get(resource, {}).get(key_of(obj))
        return known is not None and version_of(known) >= version_of(obj)

    def remove(self, resource: Resource, key: Key) -> Object | None:
        """Takes an object out; returns it."""
        old = self._objects.get(resource, {}).pop(key, None)
        if old is not None:
            self._unindex(resource, key, old)
            for index in self._facets.get(resource, {}).values():
                index.drop(key)
            _remember(self._vacated, (resource, key))
        return old

    def vacated(self, resource: Resource, namespace: str, name: str) -> bool:
        """Whether an object of that name was here not long ago: its name should not come back at once."""
        return (resource, (namespace, name)) in self._vacated

    def drop(self, resource: Resource) -> None:
        """Takes out everything of a resource, and that it was ever listed."""
        for key in list(self._objects.get(resource, ())):
            self.remove(resource, key)
        self._synced.discard(resource)

    def set_synced(self, resource: Resource) -> None:
        """The resource has been listed: from now on what is not here does not exist, or is very young."""
        self._synced.add(resource)

    def synced(self, resource: Resource) -> bool:
        return resource in self._synced

    def tombstone(self, uid: str) -> None:
        """The object of this UID is known to be gone for good."""
        _remember(self._tombstones, uid)

    def is_tombstone(self, uid: str) -> bool:
        return uid in self._tombstones

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def find(self, resource: Resource, struct: type[T], key: Key) -> T | None:
        """The object of a key as the struct that its resource is read through."""
        found = self._objects.get(resource, {}).get(key)
        return found if isinstance(found, struct) else None

    def resource(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of these names, if anything of it was ever observed."""
        return self._resources.get((group, version, plural))

    def all(self, resource: Resource) -> Iterable[Object]:
        return self._objects.get(resource, {}).values()

    def having(self, resource: Resource, facet: Facet, value: str) -> Iterator[Object]:
        """Objects of which a function says this value.  The function is known by its identity: not a lambda."""
        facets = self._facets.setdefault(resource, {})
        objects = self._objects.get(resource, {})
        index = facets.get(facet)
        if index is None:
            index = facets[facet] = Index(facet)
            for key, obj in objects.items():
                index.put(key, obj)
        return (objects[key] for key in index.keys(value))

    def count(self, resource: Resource) -> int:
        return len(self._objects.get(resource, ()))

    def holds(self, resource: Resource, namespace: str) -> bool:
        """Whether the namespace has any object of the resource."""
        return (resource, namespace) in self._by_namespace

    def in_namespace(self, resource: Resource, namespace: str) -> Iterator[Object]:
        objects = self._objects.get(resource, {})
        for key in sorted(self._by_namespace.get((resource, namespace), ())):
            yield objects[key]

    def select(self, resource: Resource, namespace: str, match: LabelMatch) -> Iterator[Object]:
        """Objects of a namespace whose labels match, in a stable order; cheap when a label's value is named."""
        if match.nothing:
            return
        objects = self._objects.get(resource, {})
        for key in sorted(self._candidates(resource, namespace, match)):
            obj = objects[key]
            if match(obj.metadata.labels):
                yield obj

    def _candidates(self, resource: Resource, namespace: str, match: LabelMatch) -> set[Key]:
        """The fewest objects that one exact requirement leaves; without one, all of the namespace."""
        exact = [(each.key, each.values[0]) for each in match.requirements if each.operator == "="]
        all_there = self._by_namespace.get((resource, namespace), set())
        if not exact or not all_there:
            return all_there
        labelled = self._by_label.get((resource, namespace))
        if labelled is None:
            labelled = self._by_label[resource, namespace] = {}
            for key in all_there:
                for pair in (self._objects[resource][key].metadata.labels or {}).items():
                    labelled.setdefault(pair, set()).add(key)
        return min((labelled.get(pair, set()) for pair in exact), key=len)

    def owned_by(
        self, uid: str, resource: Resource | None = None, namespace: str = ""
    ) -> Iterator[tuple[Resource, Object]]:
        """Objects with an owner reference to `uid`, in a stable order; `namespace`: those in it only.

        Anybody may write any reference into objects of another namespace: until the garbage collector has deleted
        these, they must not be counted as the owner's.
        """
        found = self._by_owner.get(uid, ())
        for each, key in sorted(found, key=lambda pair: (pair[0].plural, pair[1])):
            if (resource is None or each == resource) and namespace in ("", key[0]):
                yield each, self._objects[each][key]

    def pods_on(self, node: str) -> Iterator[Pod]:
        """Pods whose spec.nodeName is `node`, in a stable order."""
        objects = self._objects.get(PODS, {})
        for key in sorted(self._by_node.get(node, ())):
            pod = objects[key]
            assert isinstance(pod, Pod)
            yield pod

    def pods_using(self, claim: Key) -> Iterator[Pod]:
        """Pods with a volume of this claim, in a stable order."""
        objects = self._objects.get(PODS, {})
        for key in sorted(self._by_claim.get(claim, ())):
            pod = objects[key]
            assert isinstance(pod, Pod)
            yield pod

    def unclaimed_volumes(self, storage_class: str, least: int = 0) -> Iterator[PersistentVolume]:
        """Volumes of a class that no claim has been given yet and that are large enough, the smallest first."""
        objects = self._objects.get(PERSISTENTVOLUMES, {})
        free = self._unclaimed.get(storage_class, [])
        for _, key in islice(free, bisect_left(free, (least, ("", ""))), None):
            volume = objects[key]
            assert isinstance(volume, PersistentVolume)
            yield volume

    def waiting_claims(self, storage_class: str | None) -> list[Key]:
        """Claims of a class that are not bound, in a stable order."""
        return sorted(self._waiting.get(storage_class, ()))

    def volumes_for(self, claim: Key) -> Iterator[PersistentVolume]:
        """Volumes that are promised to a claim of this name, by whomever, in a stable order."""
        objects = self._objects.get(PERSISTENTVOLUMES, {})
        for key in sorted(self._promised.get(claim, ())):
            volume = objects[key]
            assert isinstance(volume, PersistentVolume)
            yield volume

    def _index(self, resource: Resource, key: Key, obj: Object) -> None:
        for owner in obj.metadata.owner_references or ():
            self._by_owner.setdefault(owner.uid, set()).add((resource, key))
        if key[0]:
            self._by_namespace.setdefault((resource, key[0]), set()).add(key)
            labelled = self._by_label.get((resource, key[0]))
            if labelled is not None:
                for pair in (obj.metadata.labels or {}).items():
                    labelled.setdefault(pair, set()).add(key)
        if isinstance(obj, Pod):
            if obj.spec.node_name:
                self._by_node.setdefault(obj.spec.node_name, set()).add(key)
            for claim in claims_of(obj):
                self._by_claim.setdefault(claim, set()).add(key)
        elif isinstance(obj, PersistentVolume):
            if _is_unclaimed(obj):
                insort(self._unclaimed.setdefault(obj.spec.storage_class_name, []), (_size(obj), key))
            reference = obj.spec.claim_ref
            if reference is not None:
                self._promised.setdefault((reference.namespace, reference.name), set()).add(key)
        elif isinstance(obj, PersistentVolumeClaim) and obj.status.phase != "Bound":
            self._waiting.setdefault(obj.spec.storage_class_name, set()).add(key)

    def _unindex(self, resource: Resource, key: Key, obj: Object) -> None:
        for owner in obj.metadata.owner_references or ():
            _discard(self._by_owner, owner.uid, (resource, key))
        if key[0]:
            _discard(self._by_namespace, (resource, key[0]), key)
            labelled = self._by_label.get((resource, key[0]))
            if labelled is not None:
                for pair in (obj.metadata.labels or {}).items():
                    _discard(labelled, pair, key)
                if not labelled and (resource, key[0]) not in self._by_namespace:
                    del self._by_label[resource, key[0]]
        if isinstance(obj, Pod):
            if obj.spec.node_name:
                _discard(self._by_node, obj.spec.node_name, key)
            for claim in claims_of(obj):
                _discard(self._by_claim, claim, key)
        elif isinstance(obj, PersistentVolume):
            if _is_unclaimed(obj):
                free = self._unclaimed[obj.spec.storage_class_name]
                del free[bisect_left(free, (_size(obj), key))]
                if not free:
                    del self._unclaimed[obj.spec.storage_class_name]
            reference = obj.spec.claim_ref
            if reference is not None:
                _discard(self._promised, (reference.namespace, reference.name), key)
        elif isinstance(obj, PersistentVolumeClaim) and obj.status.phase != "Bound":
            _discard(self._waiting, obj.spec.storage_class_name, key)


def claims_of(pod: Pod) -> Iterator[Key]:
    """The claims that a pod's volumes name; an ephemeral volume's claim is called after pod and volume."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield pod.namespace, volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield pod.namespace, f"{pod.name}-{volume.name}"


def _size(volume: PersistentVolume) -> int:
    try:
        return parse_units((volume.spec.capacity or {}).get("storage", "0"))
    except QuantityError:
        return 0


def _is_unclaimed(volume: PersistentVolume) -> bool:
    return volume.spec.claim_ref is None or not volume.spec.claim_ref.uid


K = TypeVar("K")
V = TypeVar("V")


def _remember(graves: OrderedDict[V, None], one: V) -> None:
    """Keeps the latest ones: a memory must not grow with what has been."""
    graves[one] = None
    if len(graves) > _GRAVES:
        graves.popitem(last=False)


def _discard(index: dict[K, set[V]], key: K, value: V) -> None:
    """Drops a value and, with its last one, the entry: an index must not grow with what has been."""
    values = index.get(key)
    if values is not None:
        values.discard(value)
        if not values:
            del index[key]
