"""Garbage collection by owner references, over every resource that the server has.

An object goes when all of its owners are gone.  The three ways to delete an owner meet here:

    background   the owner vanishes at once; its dependents, now without an owner, follow
    foreground   the owner waits behind the finalizer `foregroundDeletion` until dependents that block it are gone
    orphan       the owner waits behind the finalizer `orphan` until its dependents have lost their reference to it

Deleting something that still has an owner cannot be undone, so absence must be known and not just likely.  An
owner that the cache does not hold may be younger than the cache; then the server is asked (`Read`), and only its
answer or an observed deletion counts.  Owners of kinds that are not served are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podium.embedded.controllers.pods import without_owners
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Delete, Patch, Read
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.resources import EVENTS, EVENTS_V1, Resource
from podium.kube.wire import Object, OwnerReference

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

# How long to wait for the first list of a resource that an owner belongs to.
_UNSYNCED_DELAY = 1.0

# Events come by the thousand, own nothing and are owned by nobody.
_IGNORED = {EVENTS, EVENTS_V1}


class _Owners(msgspec.Struct):
    """An object's owners by how they stand."""

    solid: list[OwnerReference] = []
    waiting: list[OwnerReference] = []  # behind foregroundDeletion
    absent: list[OwnerReference] = []
    doubtful: list[Read] = []
    unsynced: bool = False


class GarbageController:
    """Keyed by resource and object: the name part of a key is `<group>/<version>/<plural>/<name>`."""

    name = "garbage-collector"

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._watches: dict[Resource, Mapper] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for resource in resources:
            self.serve(resource)

    @property
    def watches(self) -> dict[Resource, Mapper]:
        return self._watches

    def serve(self, resource: Resource) -> None:
        """Takes a resource in.  Of several versions of a kind the first is enough: they show the same objects."""
        kind = resource.group, resource.kind
        if resource in _IGNORED or kind in self._by_kind:
            return
        self._by_kind[kind] = resource
        self._watches[resource] = self._mapper(resource)

    def withdraw(self, resource: Resource) -> None:
        if self._watches.pop(resource, None) is not None:
            del self._by_kind[resource.group, resource.kind]

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        resource, obj = _find(key, cache)
        if resource is None or obj is None:
            return NOTHING
        if obj.deleting:
            return Outcome(tuple(_finish_deletion(resource, obj, cache)))
        if not obj.metadata.owner_references:
            return NOTHING
        owners = self._owners(obj, cache)
        again_at = now + _UNSYNCED_DELAY if owners.unsynced else None
        if owners.doubtful:
            return Outcome(tuple(owners.doubtful), again_at)
        gone = {each.uid for each in [*owners.absent, *owners.waiting]}
        if not gone:
            return Outcome(again_at=again_at)
        if owners.solid:
            return Outcome((without_owners(resource, obj, gone),), again_at)
        dependents = next(cache.owned_by(obj.uid), None) is not None
        propagation = "Foreground" if owners.waiting and dependents else "Background"
        return Outcome(
            (Delete(resource, obj.namespace, obj.name, uid=obj.uid, propagation=propagation),), again_at
        )

    def _owners(self, obj: Object, cache: Cache) -> _Owners:
        found = _Owners()
        for reference in obj.metadata.owner_references or ():
            resource = self._resource(reference)
            if resource is None or (resource.namespaced and not obj.namespace):
                found.solid.append(reference)
                continue
            owner = cache.get(resource, obj.namespace if resource.namespaced else "", reference.name)
            if owner is not None and owner.uid == reference.uid:
                (found.waiting if _waits_in_foreground(owner) else found.solid).append(reference)
            elif cache.is_tombstone(reference.uid):
                found.absent.append(reference)
            elif not cache.synced(resource):
                found.solid.append(reference)
                found.unsynced = True
            else:
                namespace = obj.namespace if resource.namespaced else ""
                found.doubtful.append(Read(resource, namespace, reference.name, reference.uid))
        return found

    def _resource(self, reference: OwnerReference) -> Resource | None:
        group = reference.api_version.rpartition("/")[0]
        return self._by_kind.get((group, reference.kind))

    def _mapper(self, resource: Resource) -> Mapper:
        def mapper(obj: Object, cache: Cache) -> Iterator[Key]:
            if obj.deleting or self._missing_an_owner(obj, cache):
                yield _key(resource, obj)
            present = cache.get(resource, obj.namespace, obj.name)
            gone = present is None or present.uid != obj.uid
            if gone or obj.deleting:
                for kind, dependent in cache.owned_by(obj.uid):
                    yield _key(kind, dependent)
            for owner_resource, owner in self._deleting_owners(obj, cache):
                yield _key(owner_resource, owner)

        return mapper

    def _missing_an_owner(self, obj: Object, cache: Cache) -> bool:
        """Cheap, because it runs on every event: most objects have all of their owners."""
        for reference in obj.metadata.owner_references or ():
            resource = self._resource(reference)
            if resource is None:
                continue
            owner = cache.get(resource, obj.namespace if resource.namespaced else "", reference.name)
            if owner is None or owner.uid != reference.uid or owner.deleting:
                return True
        return False

    def _deleting_owners(self, obj: Object, cache: Cache) -> Iterator[tuple[Resource, Object]]:
        """Owners that may be waiting for this very object."""
        for reference in obj.metadata.owner_references or ():
            resource = self._resource(reference)
            if resource is not None:
                owner = cache.get(resource, obj.namespace if resource.namespaced else "", reference.name)
                if owner is not None and owner.deleting and owner.uid == reference.uid:
                    yield resource, owner


def _waits_in_foreground(owner: Object) -> bool:
    return owner.deleting and FOREGROUND in (owner.metadata.finalizers or ())


def _finish_deletion(resource: Resource, obj: Object, cache: Cache) -> list[Change]:
    """What an object in deletion waits for from us."""
    finalizers = obj.metadata.finalizers or ()
    if ORPHAN in finalizers:
        freed: list[Change] = [
            without_owners(kind, dependent, {obj.uid}) for kind, dependent in cache.owned_by(obj.uid)
        ]
        return freed or [_without_finalizer(resource, obj, ORPHAN)]
    if FOREGROUND in finalizers and all(_waits_for(each, obj, cache) for each in _blocking(obj, cache)):
        return [_without_finalizer(resource, obj, FOREGROUND)]
    return []


def _blocking(owner: Object, cache: Cache) -> Iterator[Object]:
    """The dependents that a foreground deletion of the owner waits for."""
    for _, dependent in cache.owned_by(owner.uid):
        references = dependent.metadata.owner_references or ()
        if any(each.uid == owner.uid and each.block_owner_deletion for each in references):
            yield dependent


def _waits_for(dependent: Object, owner: Object, cache: Cache) -> bool:
    """Whether a dependent in foreground deletion waits for its own owner in turn, over whatever chain.

    Nobody in such a circle would ever go: somebody has to be the first, and it may be any of them.
    """
    seen = {dependent.uid}
    left = [dependent]
    while left:
        each = left.pop()
        if each.uid == owner.uid:
            return True
        if _waits_in_foreground(each):
            further = [one for one in _blocking(each, cache) if one.uid not in seen]
            seen.update(one.uid for one in further)
            left += further
    return False


def _without_finalizer(resource: Resource, obj: Object, finalizer: str) -> Patch:
    """By the whole list and the version: custom resources know no strategic merge."""
    kept = [each for each in obj.metadata.finalizers or () if each != finalizer]
    return Patch(
        resource,
        obj.namespace,
        obj.name,
        {"metadata": {"finalizers": kept or None}},
        uid=obj.uid,
        resource_version=obj.metadata.resource_version,
    )


def _key(resource: Resource, obj: Object) -> Key:
    return obj.namespace, f"{resource.group}/{resource.version}/{resource.plural}/{obj.name}"


def _find(key: Key, cache: Cache) -> tuple[Resource | None, Object | None]:
    namespace, path = key
    group, version, plural, name = path.split("/", 3)
    resource = cache.resource(group, version, plural)
    return resource, cache.get(resource, namespace, name) if resource is not None else None
