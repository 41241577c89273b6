"""Where a pod's volumes can be reached: its claims, the volumes that serve them or could, and their classes.

    a claim with a volume         the nodes that reach the volume
    one that waits for a pod      the nodes that reach a free volume that fits, or on which one can be made
    any other one without         no node yet: somebody else must bind it first

What is found depends on other objects, so a pod with claims is read again when one of them changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.core.constraints import Attachment, Claim, Constraints, NodeTerm, Requirement, VolumeOption
from podium.dialects.kubernetes.constraints import node_terms
from podium.kube.cache import Cache
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
from podium.kube.volume_matching import fits, requested, size_of, units_of
from podium.kube.wire import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass

_WAITS = "WaitForFirstConsumer"
_NOBODY = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

# Labels by which a volume tells its place; a volume in several zones lists them in one value.
_PLACES = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_SEVERAL = "__"


def has_claims(pod: Pod) -> bool:
    """Whether other objects have to be looked at to know where a pod can go."""
    return any(
        each.persistent_volume_claim is not None or each.ephemeral is not None for each in pod.spec.volumes or ()
    )


def with_volumes(constraints: Constraints, pod: Pod, cache: Cache) -> Constraints:
    """The constraints of a pod with those of its volumes."""
    found = _Found(cache)
    for name, own in _claim_names(pod):
        found.add(pod, name, own)
    return msgspec.structs.replace(
        constraints,
        claims=tuple(found.claims),
        zones=tuple(sorted(set(found.zones), key=lambda each: (each.key, each.values))),
        attachments=tuple(found.attachments),
        unbound=tuple(sorted(found.unbound)),
    )


def _claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The claims of a pod, each with whether it is the pod's own."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.name}-{volume.name}", True


class _Found:
    """What the claims of one pod add up to."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.claims: list[Claim] = []
        self.zones: list[Requirement] = []
        self.attachments: list[Attachment] = []
        self.unbound: list[str] = []

    def add(self, pod: Pod, name: str, own: bool) -> None:
        claim = self._cache.find(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim, (pod.namespace, name))
        if claim is None or claim.deleting or (own and not _belongs(claim, pod)):
            self.unbound.append(name)
        elif claim.spec.volume_name:
            self._add_bound(claim)
        else:
            self._add_unbound(claim)

    def _add_bound(self, claim: PersistentVolumeClaim) -> None:
        volume = self._cache.find(PERSISTENTVOLUMES, PersistentVolume, ("", claim.spec.volume_name))
        if volume is None:
            self.unbound.append(claim.name)
            return
        terms = _reached_from(volume)
        if terms is not None:
            self.claims.append(Claim((VolumeOption(terms),)))
        for key in _PLACES:
            if key in volume.labels:
                places = tuple(sorted(volume.labels[key].split(_SEVERAL)))
                self.zones.append(Requirement(key, "In", places))
        if volume.spec.csi is not None:
            driver = str(volume.spec.csi.get("driver", ""))
            self.attachments.append(Attachment(driver, str(volume.spec.csi.get("volumeHandle", volume.name))))

    def _add_unbound(self, claim: PersistentVolumeClaim) -> None:
        kind = self._cache.find(STORAGECLASSES, StorageClass, ("", claim.spec.storage_class_name or ""))
        if kind is None or kind.volume_binding_mode != _WAITS:
            self.unbound.append(claim.name)
            return
        free = [each for each in self._cache.unclaimed_volumes(kind.name) if not each.deleting]
        promised = [each for each in free if _is_promised(each, claim)]
        fitting = promised or [each for each in free if each.spec.claim_ref is None and fits(each, claim)]
        wanted = units_of(requested(claim))
        options = [
            VolumeOption(_reached_from(volume), min(1.0, wanted / max(1, size_of(volume)))) for volume in fitting
        ]
        if kind.provisioner != _NOBODY and not promised:
            options.append(VolumeOption(_made_at(kind, claim)))
            self.attachments.append(Attachment(kind.provisioner))
        self.claims.append(Claim(tuple(options)))


def _belongs(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.uid


def _is_promised(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    reference = volume.spec.claim_ref
    return reference is not None and (reference.namespace, reference.name) == (claim.namespace, claim.name)


def _reached_from(volume: PersistentVolume) -> tuple[NodeTerm, ...] | None:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return node_terms(affinity.required, f"persistentvolume {volume.name}: spec.nodeAffinity.required")


def _made_at(kind: StorageClass, claim: PersistentVolumeClaim) -> tuple[NodeTerm, ...] | None:
    """The places in which a volume can be made for a claim; None for everywhere."""
    chosen = claim.annotations.get(SELECTED_NODE)
    if chosen:
        # It is being made for that node already.
        return (NodeTerm(names=(Requirement("metadata.name", "In", (chosen,)),)),)
    if not kind.allowed_topologies:
        return None
    return tuple(
        NodeTerm(
            tuple(
                Requirement(str(each.get("key", "")), "In", tuple(sorted(map(str, each.get("values") or ()))))
                for each in term.match_label_expressions or ()
            )
        )
        for term in kind.allowed_topologies
    )
