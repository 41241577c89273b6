"""The end of a namespace: its pods are deleted, then everything else, then its `kubernetes` finalizer is removed.

Pods go first because they use the rest: a pod that is still ending keeps its Secrets, claims and policies.

How far it has come is written into the status, so that a controller which was away goes on from there.  The
condition NamespaceDeletionContentFailure with status False says that the pods have been deleted as a collection;
NamespaceContentRemaining, that everything else has been, and what of it is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Delete, Replace
from podium.kube.conditions import set_condition
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself
from podium.kube.resources import EVENTS, EVENTS_V1, NAMESPACES, PODS, Resource
from podium.kube.wire import Namespace, Object, condition
from podium.kube.writing import condition_documents, status_patch

FINALIZER = "kubernetes"
CONTENT_DELETED = "NamespaceDeletionContentFailure"
CONTENT_REMAINING = "NamespaceContentRemaining"

# Deleted with the rest, but neither watched nor waited for: nothing holds an event.
_UNWATCHED = {EVENTS, EVENTS_V1}


class NamespaceController:
    name = "namespace"

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._watches: dict[Resource, Mapper] = {NAMESPACES: itself}
        self._contents: dict[tuple[str, str], Resource] = {}
        for resource in resources:
            self.serve(resource)

    @property
    def watches(self) -> dict[Resource, Mapper]:
        return self._watches

    def serve(self, resource: Resource) -> None:
        kind = resource.group, resource.plural
        if not resource.namespaced or resource == EVENTS_V1 or kind in self._contents:
            return
        self._contents[kind] = resource
        if resource not in _UNWATCHED:
            self._watches[resource] = _dying_namespace(resource)

    def withdraw(self, resource: Resource) -> None:
        if self._contents.get((resource.group, resource.plural)) == resource:
            del self._contents[resource.group, resource.plural]
            self._watches.pop(resource, None)

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        namespace = cache.find(NAMESPACES, Namespace, key)
        if namespace is None or not namespace.deleting:
            return NOTHING
        if FINALIZER not in (namespace.spec.finalizers or ()):
            return NOTHING
        conditions = namespace.status.conditions
        reported = condition(conditions, CONTENT_DELETED)
        if reported is None or reported.status != "False":
            return Outcome((*_delete_all(namespace, [PODS]), *_write(namespace, _deleted(), now)))
        if cache.holds(PODS, namespace.name):
            return Outcome(tuple(_delete_late(namespace, [PODS], cache)))
        lingering = [each for each in self._contents.values() if cache.holds(each, namespace.name)]
        if condition(conditions, CONTENT_REMAINING) is None:
            others = [each for each in self._contents.values() if each != PODS]
            changes = _delete_all(namespace, others)
            return Outcome((*changes, *_write(namespace, _remaining(lingering), now)))
        if not lingering:
            return Outcome((_finalize(namespace),))
        late = _delete_late(namespace, lingering, cache)
        return Outcome((*late, *_write(namespace, _remaining(lingering), now)))


def _delete_all(namespace: Namespace, resources: Iterable[Resource]) -> list[Change]:
    """By collection and without looking: the cache may not know the youngest objects yet."""
    return [Delete(resource, namespace.name, "", propagation="Background") for resource in resources]


def _delete_late(namespace: Namespace, resources: list[Resource], cache: Cache) -> Iterator[Change]:
    """Whatever slipped in after the collections were deleted."""
    for resource in resources:
        for obj in cache.in_namespace(resource, namespace.name):
            if not obj.deleting:
                yield Delete(resource, namespace.name, obj.name, uid=obj.uid, propagation="Background")


def _dying_namespace(resource: Resource) -> Mapper:
    """An object concerns a namespace in deletion when it is not being deleted, or was the last of its kind."""

    def mapper(obj: Object, cache: Cache) -> Iterable[Key]:
        namespace = cache.get(NAMESPACES, "", obj.namespace)
        if namespace is None or not namespace.deleting:
            return ()
        last = not cache.holds(resource, obj.namespace)
        return (("", obj.namespace),) if last or not obj.deleting else ()

    return mapper


class _Finding(msgspec.Struct, frozen=True):
    """What a condition of the namespace says."""

    kind: str
    status: str
    reason: str
    message: str


def _deleted() -> _Finding:
    sentence = "All content successfully deleted, may be waiting on finalization"
    return _Finding(CONTENT_DELETED, "False", "ContentDeleted", sentence)


def _remaining(lingering: Iterable[Resource]) -> _Finding:
    names = sorted(f"{each.plural}.{each.group}".rstrip(".") for each in lingering)
    if not names:
        return _Finding(CONTENT_REMAINING, "False", "ContentRemoved", "All content successfully removed")
    message = f"Some resources are remaining: {', '.join(names)}"
    return _Finding(CONTENT_REMAINING, "True", "SomeResourcesRemain", message)


def _write(namespace: Namespace, found: _Finding, now: float) -> tuple[Change, ...]:
    conditions = condition_documents(namespace.status.conditions)
    status = {
        "phase": "Terminating",
        "conditions": set_condition(conditions, found.kind, found.status, found.reason, found.message, now),
    }
    return status_patch(NAMESPACES, namespace, namespace.status, status)


def _finalize(namespace: Namespace) -> Change:
    kept = [each for each in namespace.spec.finalizers or () if each != FINALIZER]
    document = {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": namespace.name, "uid": namespace.uid},
        "spec": {"finalizers": kept},
    }
    return Replace(NAMESPACES, "", namespace.name, document, subresource="finalize")
