"""Deleting objects: grace periods, finalizers, propagation and preconditions.

An object that something still holds (a grace period, a finalizer, a namespace's content) is marked with a deletion
timestamp and goes with the write that removes the last hold (`Objects.update`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.embedded.conversion import to_served, to_stored
from podium.embedded.objects import Objects
from podium.embedded.options import DeleteOptions
from podium.embedded.registry import Kind
from podium.embedded.store import Record
from podium.kube import resources as r
from podium.kube import status
from podium.kube.times import format_time

Document = dict[str, Any]

DEFAULT_GRACE = 30
MAX_GRACE = (1 << 31) - 1  # 68 years: a pod may ask for more, and no calendar has so many
_IMMORTAL = ("default", "kube-system", "kube-public")
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Deleted(msgspec.Struct, frozen=True):
    """How a deletion ended: the object as it is now, and whether it is gone."""

    record: Record
    gone: bool


def delete(objects: Objects, kind: Kind, record: Record, options: DeleteOptions) -> Deleted:
    """Deletes one object, or marks it for deletion."""
    _check_preconditions(kind, record, options)
    if kind.resource == r.NAMESPACES and record.name in _IMMORTAL:
        raise status.forbidden(kind.resource, record.name, "this namespace may not be deleted")
    dry_run = bool(options.dry_run)
    document = to_served(kind, record.document())
    metadata = document["metadata"]
    marked = "deletionTimestamp" in metadata
    grace = _grace(kind, document, options)
    _hold_for_dependents(metadata, options)
    holds = bool(metadata.get("finalizers")) or (
        kind.resource == r.NAMESPACES and bool((document.get("spec") or {}).get("finalizers"))
    )
    if grace == 0 and not holds:
        _stamp(objects, metadata, 0)
        gone = record if dry_run else objects.store.remove(kind.storage, record, to_stored(kind, document))
        return Deleted(gone, gone=True)
    shortened = marked and grace < (metadata.get("deletionGracePeriodSeconds") or 0)
    if not marked or shortened:
        _stamp(objects, metadata, grace)
        if "generation" in metadata and not marked:
            metadata["generation"] += 1
        if kind.resource == r.NAMESPACES:
            document["status"] = {**(document.get("status") or {}), "phase": "Terminating"}
    elif document == to_served(kind, record.document()):
        return Deleted(record, gone=False)  # already on its way
    if dry_run:
        return Deleted(record, gone=False)
    return Deleted(objects.store.put(kind.storage, to_stored(kind, document), record), gone=False)


def _stamp(objects: Objects, metadata: Document, grace: int) -> None:
    metadata["deletionTimestamp"] = format_time(objects.clock() + grace)
    metadata["deletionGracePeriodSeconds"] = grace


def _grace(kind: Kind, document: Document, options: DeleteOptions) -> int:
    """Seconds the object may still live.  Only pods have any; one that never started or has ended has none."""
    if kind.resource != r.PODS:
        return 0
    spec = document.get("spec") or {}
    phase = (document.get("status") or {}).get("phase")
    grace = options.grace_period_seconds
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
    if grace < 0:
        grace = 1
    grace = min(grace, MAX_GRACE)
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    return int(grace)


def _hold_for_dependents(metadata: Document, options: DeleteOptions) -> None:
    """Orphan and Foreground leave work to the garbage collector, by a finalizer; Background needs none."""
    policy = options.propagation_policy
    if not policy and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if not policy:
        return
    finalizers = [f for f in metadata.get("finalizers") or () if f not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        finalizers.append(ORPHAN)
    elif policy == "Foreground":
        finalizers.append(FOREGROUND)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _check_preconditions(kind: Kind, record: Record, options: DeleteOptions) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    if wanted.uid is not None and wanted.uid != record.uid:
        raise status.conflict(
            kind.resource,
            record.name,
            f"Precondition failed: UID in precondition: {wanted.uid}, UID in object meta: {record.uid}",
        )
    if wanted.resource_version is not None and wanted.resource_version != str(record.version):
        raise status.conflict(
            kind.resource,
            record.name,
            f"Precondition failed: ResourceVersion in precondition: {wanted.resource_version}, "
            f"ResourceVersion in object meta: {record.version}",
        )
