"""Volume claims: bound to a volume that fits, or to one made for them by a simulated provisioner.

A claim of an Immediate class is bound when it appears; one of a WaitForFirstConsumer class waits until the
scheduler has named a node in the annotation `volume.kubernetes.io/selected-node`, and gets a volume that this
node can reach.  Every class whose provisioner is not `kubernetes.io/no-provisioner` is provisioned here, whatever
driver it names: the volume is an object and nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.mapping import itself
from podium.kube.resources import (
    CSINODES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STORAGECLASSES,
    Resource,
)
from podium.kube.times import format_time
from podium.kube.volume_matching import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAITS_FOR_POD,
    NoSuchPlaceError,
    best_volume,
    default_class,
    is_for,
    places,
    reference_to,
    requested,
)
from podium.kube.wire import (
    Node,
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from podium.kube.writing import status_patch, with_finalizer, without_finalizer

PROVISIONER = "volume.kubernetes.io/storage-provisioner"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"


class VolumeClaimController:
    name = "persistentvolume-binder"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {
            PERSISTENTVOLUMECLAIMS: itself,
            PERSISTENTVOLUMES: _claims_of_volume,
            STORAGECLASSES: _waiting_claims,
            PODS: _protected_claims,
            NODES: _nothing,
            CSINODES: _nothing,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        claim = cache.find(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim, key)
        if claim is None:
            return NOTHING
        protected = CLAIM_PROTECTION in (claim.metadata.finalizers or ())
        if claim.deleting:
            if protected and not any(pod.spec.node_name for pod in cache.pods_using(key)):
                return Outcome((without_finalizer(PERSISTENTVOLUMECLAIMS, claim, CLAIM_PROTECTION),))
            return NOTHING
        protection = () if protected else (with_finalizer(PERSISTENTVOLUMECLAIMS, claim, CLAIM_PROTECTION),)
        outcome = _bound(claim, cache) if claim.spec.volume_name else _unbound(claim, cache)
        return Outcome((*protection, *outcome.changes), outcome.again_at, outcome.notes)


# --- which claims an event concerns ------------------------------------------------------------------------


def _nothing(obj: Object, cache: Cache) -> Iterable[Key]:
    """Nodes are only looked up: a claim waits for the annotation, not for the node."""
    return ()


def _claims_of_volume(obj: Object, cache: Cache) -> Iterator[Key]:
    assert isinstance(obj, PersistentVolume)
    reference = obj.spec.claim_ref
    if reference is not None:
        yield reference.namespace, reference.name
    elif cache.find(PERSISTENTVOLUMES, PersistentVolume, key_of(obj)) is not None:
        for name in {obj.spec.storage_class_name, obj.spec.storage_class_name or None}:
            yield from cache.waiting_claims(name)


def _waiting_claims(obj: Object, cache: Cache) -> Iterator[Key]:
    """A new class may be what any unbound claim waits for; that is a rare event."""
    for claim in cache.all(PERSISTENTVOLUMECLAIMS):
        if isinstance(claim, PersistentVolumeClaim) and claim.status.phase != "Bound":
            yield key_of(claim)


def _protected_claims(obj: Object, cache: Cache) -> Iterator[Key]:
    """A pod's end may free claims that wait for it."""
    if isinstance(obj, Pod):
        for volume in obj.spec.volumes or ():
            if volume.persistent_volume_claim is not None:
                key = obj.namespace, volume.persistent_volume_claim.claim_name
                claim = cache.get(PERSISTENTVOLUMECLAIMS, *key)
                if claim is not None and claim.deleting:
                    yield key


# --- binding -----------------------------------------------------------------------------------------------


def _bound(claim: PersistentVolumeClaim, cache: Cache) -> Outcome:
    """A claim that names its volume: completes the binding, or reports that the volume is lost."""
    volume = cache.find(PERSISTENTVOLUMES, PersistentVolume, ("", claim.spec.volume_name))
    completed = BIND_COMPLETED in claim.annotations
    if volume is None or not (volume.spec.claim_ref is None or is_for(volume.spec.claim_ref, claim)):
        phase = "Lost" if completed else "Pending"
        return Outcome(status_patch(PERSISTENTVOLUMECLAIMS, claim, claim.status, {"phase": phase}))
    return Outcome(tuple(_bind(claim, volume)))


def _unbound(claim: PersistentVolumeClaim, cache: Cache) -> Outcome:
    name = claim.spec.storage_class_name
    if name is None:
        chosen = default_class(cache)
        if chosen is not None:
            patch = {"spec": {"storageClassName": chosen.name}}
            return Outcome((Patch(PERSISTENTVOLUMECLAIMS, *key_of(claim), patch, uid=claim.uid),))
    kind = cache.find(STORAGECLASSES, StorageClass, ("", name)) if name else None
    waits = kind is not None and kind.volume_binding_mode == WAITS_FOR_POD
    node = cache.find(NODES, Node, ("", claim.annotations.get(SELECTED_NODE, "")))
    # One that was made for it, or that a scheduler or a user has promised to it.
    promised = (each for each in cache.volumes_for(key_of(claim)) if is_for(each.spec.claim_ref, claim))
    volume = next((each for each in promised if not each.deleting), None)
    if volume is None:
        volume = best_volume(claim, cache, node, only_promised=waits and node is None)
    if volume is not None:
        return Outcome(tuple(_bind(claim, volume)))
    pending = status_patch(PERSISTENTVOLUMECLAIMS, claim, claim.status, {"phase": "Pending"})
    if waits and node is None:
        message = "waiting for first consumer to be created before binding"
        return Outcome(pending, notes=(Note(PERSISTENTVOLUMECLAIMS, claim, "WaitForFirstConsumer", message),))
    if kind is None or kind.provisioner == NO_PROVISIONER or claim.spec.selector is not None:
        return Outcome(pending)
    try:
        document = _new_volume(claim, kind, node, cache)
    except NoSuchPlaceError:
        # The scheduler chose a node that the class does not allow: it is asked to choose again.
        unchosen: Document = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        return Outcome((*pending, Patch(PERSISTENTVOLUMECLAIMS, *key_of(claim), unchosen, uid=claim.uid)))
    note = f"Successfully provisioned volume {document['metadata']['name']}"
    return Outcome(
        (*pending, Create(PERSISTENTVOLUMES, "", document)),
        notes=(Note(PERSISTENTVOLUMECLAIMS, claim, "ProvisioningSucceeded", note),),
    )


def _bind(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Iterator[Change]:
    """First the volume promises itself to the claim, under its version; only then the claim takes it."""
    reference = volume.spec.claim_ref
    if reference is None or reference.uid != claim.uid:
        yield Patch(
            PERSISTENTVOLUMES,
            "",
            volume.name,
            {"spec": {"claimRef": reference_to(claim)}},
            uid=volume.uid,
            resource_version=volume.metadata.resource_version,
        )
    patch: Document = {}
    if not claim.spec.volume_name:
        patch["spec"] = {"volumeName": volume.name}
    notes = {BIND_COMPLETED: "yes"}
    if not claim.spec.volume_name:
        notes[BOUND_BY_CONTROLLER] = "yes"
    if PROVISIONED_BY in volume.annotations:
        notes[PROVISIONER] = volume.annotations[PROVISIONED_BY]
    missing = {key: value for key, value in notes.items() if claim.annotations.get(key) != value}
    if missing:
        patch["metadata"] = {"annotations": missing}
    if patch:
        yield Patch(PERSISTENTVOLUMECLAIMS, *key_of(claim), patch, uid=claim.uid)
    status = {
        "phase": "Bound",
        "capacity": {"storage": (volume.spec.capacity or {}).get("storage")},
        "accessModes": volume.spec.access_modes,
    }
    yield from status_patch(PERSISTENTVOLUMECLAIMS, claim, claim.status, status)


# --- provisioning ------------------------------------------------------------------------------------------


def _volume_name(claim: PersistentVolumeClaim) -> str:
    return f"pvc-{claim.uid}"


def _new_volume(claim: PersistentVolumeClaim, kind: StorageClass, node: Node | None, cache: Cache) -> Document:
    name = _volume_name(claim)
    spec: Document = {
        "capacity": {"storage": requested(claim)},
        "accessModes": claim.spec.access_modes or ["ReadWriteOnce"],
        "claimRef": reference_to(claim),
        "csi": {"driver": kind.provisioner, "volumeHandle": name},
        "persistentVolumeReclaimPolicy": kind.reclaim_policy,
        "storageClassName": kind.name,
        "volumeMode": claim.spec.volume_mode,
    }
    affinity = places(kind, node, cache)
    if affinity is not None:
        spec["nodeAffinity"] = affinity
    return {
        "apiVersion": PERSISTENTVOLUMES.api_version,
        "kind": PERSISTENTVOLUMES.kind,
        "metadata": {
            "name": name,
            "annotations": {PROVISIONED_BY: kind.provisioner},
            "finalizers": [VOLUME_PROTECTION],
        },
        "spec": spec,
    }


# --- volumes -----------------------------------------------------------------------------------------------


class VolumeController:
    """Phases, reclaiming and protection of volumes."""

    name = "persistentvolume"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {PERSISTENTVOLUMES: itself, PERSISTENTVOLUMECLAIMS: _its_volume}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        volume = cache.find(PERSISTENTVOLUMES, PersistentVolume, key)
        if volume is None:
            return NOTHING
        phase = _phase(volume, cache)
        protected = VOLUME_PROTECTION in (volume.metadata.finalizers or ())
        changes: list[Change] = []
        if volume.status.phase != phase:
            status = {"phase": phase, "lastPhaseTransitionTime": format_time(now)}
            changes += status_patch(PERSISTENTVOLUMES, volume, volume.status, status)
        if volume.deleting:
            if protected and phase != "Bound":
                changes.append(without_finalizer(PERSISTENTVOLUMES, volume, VOLUME_PROTECTION))
        elif not protected:
            changes.append(with_finalizer(PERSISTENTVOLUMES, volume, VOLUME_PROTECTION))
        elif phase == "Released" and volume.spec.persistent_volume_reclaim_policy == "Delete":
            changes.append(Delete(PERSISTENTVOLUMES, "", volume.name, uid=volume.uid))
        return Outcome(tuple(changes))


def _its_volume(obj: Object, cache: Cache) -> Iterable[Key]:
    """The volume that a claim names, and the one that was made for it."""
    assert isinstance(obj, PersistentVolumeClaim)
    made = _volume_name(obj)
    return (("", each) for each in {obj.spec.volume_name, made} if each and cache.get(PERSISTENTVOLUMES, "", each))


def _phase(volume: PersistentVolume, cache: Cache) -> str:
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return "Available"
    claim = cache.find(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim, (reference.namespace, reference.name))
    if claim is None or claim.uid != reference.uid:
        return "Released"
    if claim.spec.volume_name == volume.name:
        return "Bound"
    return "Available" if not claim.spec.volume_name else "Released"
