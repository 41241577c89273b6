"""What controllers of pods have in common: which pods are theirs, how they stand, which to give up first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from podium.errors import ApiError
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Document, Patch
from podium.kube.conditions import owner_reference
from podium.kube.controller import Note
from podium.kube.events import WARNING
from podium.kube.resources import PODS, Resource
from podium.kube.selectors import LabelMatch
from podium.kube.times import parse_time
from podium.kube.wire import Object, OwnerReference, Pod, condition

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

# A look at an owner takes some 10 µs for each of its pods; with these it takes a tenth of the time at the most.
_FEW_PODS = 500
_REST_PER_POD = 0.0001

T = TypeVar("T", bound=Object)


class Claim(msgspec.Struct, Generic[T]):
    """The objects that an owner controls, and the writes that settle doubtful ones: first those, then the rest."""

    objects: list[T]
    changes: tuple[Change, ...]


def claim(
    cache: Cache,
    resource: Resource,
    owner: Object,
    match: LabelMatch,
    kind: Resource,
    struct: type[T],
    *,
    adopt: bool = True,
    member: Callable[[T], bool] = lambda _: True,
    finalizer: str = "",
) -> Claim[T]:
    """Objects of `kind` under `owner`: orphans that match are adopted, children that no longer match released.

    `finalizer` is what the owner keeps on its objects: it comes with the adoption and goes with the release.
    """
    mine: list[T] = []
    changes: list[Change] = []
    for _, obj in cache.owned_by(owner.uid, kind, owner.namespace):
        reference = obj.metadata.controller
        if reference is None or reference.uid != owner.uid or not isinstance(obj, struct):
            continue
        if match(obj.labels) and member(obj):
            mine.append(obj)
        elif not owner.deleting and not obj.deleting:
            changes.append(_released(kind, obj, owner, finalizer))
    if adopt and not owner.deleting:
        for obj in cache.select(kind, owner.namespace, match):
            orphan = obj.metadata.controller is None and not obj.deleting
            if orphan and isinstance(obj, struct) and member(obj) and not _finished(obj):
                changes.append(_adopted(kind, obj, owner_reference(owner, resource), finalizer))
    return Claim(mine, tuple(changes))


def _finished(obj: Object) -> bool:
    return isinstance(obj, Pod) and obj.finished


def _adopted(kind: Resource, obj: Object, reference: Document, finalizer: str) -> Patch:
    metadata: Document = {"ownerReferences": [*owner_documents(obj.metadata.owner_references or ()), reference]}
    held = obj.metadata.finalizers or []
    if finalizer and finalizer not in held:
        metadata["finalizers"] = [*held, finalizer]
    return _metadata_patch(kind, obj, metadata)


def _released(kind: Resource, obj: Object, owner: Object, finalizer: str) -> Patch:
    metadata: Document = {"ownerReferences": _other_owners(obj, {owner.uid})}
    held = obj.metadata.finalizers or []
    if finalizer in held:
        metadata["finalizers"] = [each for each in held if each != finalizer] or None
    return _metadata_patch(kind, obj, metadata)


def without_owners(kind: Resource, obj: Object, uids: set[str]) -> Patch:
    """The object without its references to these owners."""
    return _metadata_patch(kind, obj, {"ownerReferences": _other_owners(obj, uids)})


def _other_owners(obj: Object, uids: set[str]) -> list[Document] | None:
    kept = [each for each in obj.metadata.owner_references or () if each.uid not in uids]
    return owner_documents(kept) or None


def _metadata_patch(kind: Resource, obj: Object, metadata: Document) -> Patch:
    # Custom resources know no strategic merge, so lists are sent as a whole and guarded by the version.
    return Patch(
        kind,
        obj.namespace,
        obj.name,
        {"metadata": metadata},
        uid=obj.uid,
        resource_version=obj.metadata.resource_version,
    )


def owner_documents(references: Iterable[OwnerReference]) -> list[Document]:
    """Owner references as they stand on the wire."""
    return [
        {key: value for key, value in msgspec.to_builtins(each).items() if value is not None}
        for each in references
    ]


def rest_after(pods: int) -> float:
    """How long an owner of so many pods is left in peace after a look, while its pods go on changing."""
    return max(0, pods - _FEW_PODS) * _REST_PER_POD


# --- how a pod stands --------------------------------------------------------------------------------------


def active(pod: Pod) -> bool:
    """Neither ended nor asked to end."""
    return not pod.finished and not pod.deleting


def terminating(pod: Pod) -> bool:
    """Asked to end and not ended yet."""
    return pod.deleting and not pod.finished


def ready_since(pod: Pod) -> float:
    """When the pod became ready; 0.0 when it is not."""
    found = condition(pod.status.conditions, "Ready")
    return parse_time(found.last_transition_time) if found is not None and found.status == "True" else 0.0


def available_at(pod: Pod, min_ready_seconds: int) -> float | None:
    """When a ready pod counts as available (perhaps later than now), or None when it is not ready."""
    return ready_since(pod) + min_ready_seconds if pod.ready else None


def restarts(pod: Pod) -> int:
    return sum(each.restart_count for each in pod.status.container_statuses or ())


def victims_first(pods: Iterable[Pod], colocated: Callable[[Pod], int] = lambda _: 0) -> list[Pod]:
    """Pods in the order in which to give them up: those that lose the least work first.

    `colocated` is how many sisters of a pod run on its node; where more are, one goes first, which spreads
    what remains.
    """
    stages = {"Pending": 0, "Unknown": 1, "Running": 2}

    def rank(pod: Pod) -> tuple[object, ...]:
        return (
            bool(pod.spec.node_name),
            stages.get(pod.status.phase, 0),
            pod.ready,
            _deletion_cost(pod),
            -colocated(pod),
            -ready_since(pod),
            -restarts(pod),
            -parse_time(pod.metadata.creation_timestamp),
            pod.name,
        )

    return sorted(pods, key=rank)


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


FAILED_CREATE = "FailedCreate"


def refused_pod(resource: Resource, owner: Object | None, change: Change, error: ApiError) -> Note | None:
    """What an owner's users are told when the server does not take a pod: its class of priority may be missing."""
    if owner is None or not isinstance(change, Create) or change.resource != PODS:
        return None
    return Note(resource, owner, FAILED_CREATE, f"Error creating: {error}", WARNING)
