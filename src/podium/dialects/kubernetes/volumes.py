"""Where a pod's volumes can be reached: its claims, the volumes that serve them or could, and their classes.

    a claim with a volume         the nodes that reach the volume
    one that waits for a pod      the nodes that reach a free volume that fits, or on which one can be made
    any other one without         no node yet: somebody else must bind it first

What is found depends on other objects, so a pod with claims is read again when one of them changes.  The volumes
that could serve a claim follow from a few fields of it, so claims that ask for the same are worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.core.model.constraints import (
    Attachment,
    Claim,
    Constraints,
    NodeTerm,
    Requirement,
    Sharing,
    VolumeOption,
)
from podium.dialects.kubernetes.constraints import UnreadableError, node_terms
from podium.kube.cache import Cache, Key, key_of
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
from podium.kube.selectors import SelectorError
from podium.kube.volume_matching import (
    NO_PROVISIONER,
    SELECTED_NODE,
    WAITS_FOR_POD,
    fits,
    is_bound,
    is_for,
    requested,
    size_of,
    units_of,
)
from podium.kube.wire import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass

# Labels with the place of a volume; a volume in several zones lists them in one value.
_PLACES = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_SEVERAL = "__"

_ONE_POD = "ReadWriteOncePod"
_ONE_NODE = "ReadWriteOnce"
_GONE = ("Released", "Failed")
_OPTIONS_KEPT = 10_000


def has_claims(pod: Pod) -> bool:
    """Whether other objects have to be looked at to know where a pod can go."""
    volumes = pod.spec.volumes
    if not volumes:
        return False
    return any(each.persistent_volume_claim is not None or each.ephemeral is not None for each in volumes)


class PodVolumes(msgspec.Struct, frozen=True):
    """The constraints of a pod's volumes, and the names of the claims that they list, in the same order."""

    constraints: Constraints
    claims: tuple[Key, ...]


class VolumeReader:
    """Reads the volumes of pods."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._options: dict[tuple[object, ...], tuple[VolumeOption, ...]] = {}
        self._known: dict[VolumeOption, VolumeOption] = {}  # one object for equal ones: they come in thousands

    def volumes_changed(self) -> None:
        """A volume or a class came, went or changed: what could serve a claim is worked out anew."""
        self._options.clear()
        if len(self._known) > 2 * self._cache.count(PERSISTENTVOLUMES) + _OPTIONS_KEPT:
            self._known.clear()

    def read(self, pod: Pod, constraints: Constraints | None = None) -> PodVolumes:
        """The constraints of a pod with those of its volumes.  Raises UnreadableError."""
        found = _Found()
        for name, own in _claim_names(pod):
            self._add(found, pod, name, own)
        # Small claims first: the large volumes are left to those that need them.
        found.claims.sort(key=lambda each: each[0])
        together = msgspec.structs.replace(
            constraints or Constraints(),
            claims=tuple(claim for _, _, claim in found.claims),
            zones=tuple(sorted(set(found.zones), key=lambda each: (each.key, each.values))),
            zone_labels=_PLACES if found.zones else (),
            attachments=tuple(found.attachments),
            unbound=tuple(sorted(found.unbound)),
        )
        return PodVolumes(together, tuple(key for _, key, _ in found.claims))

    def _add(self, found: _Found, pod: Pod, name: str, own: bool) -> None:
        key = (pod.namespace, name)
        claim = self._cache.find(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim, key)
        if claim is None:
            found.unbound.append(f"{name} does not exist")
        elif own and not _belongs(claim, pod):
            found.unbound.append(f"{name} does not belong to this pod")
        elif claim.deleting:
            found.unbound.append(f"{name} is being deleted")
        elif claim.status.phase == "Lost":
            found.unbound.append(f"{name} has lost its volume {claim.spec.volume_name}")
        elif is_bound(claim):
            self._add_bound(found, claim)
        else:
            self._add_unbound(found, claim)

    def _add_bound(self, found: _Found, claim: PersistentVolumeClaim) -> None:
        volume = self._cache.find(PERSISTENTVOLUMES, PersistentVolume, ("", claim.spec.volume_name))
        if volume is None:
            found.unbound.append(f"{claim.name} is bound to {claim.spec.volume_name}, which does not exist")
            return
        terms = _reached_from(volume)
        sharing = _sharing(claim)
        if sharing is Sharing.TASK:
            found.add(claim, Claim((VolumeOption(terms),), key=_key(claim), sharing=sharing))
        elif terms is not None:
            found.add(claim, Claim((VolumeOption(terms),)))
        for key in _PLACES:
            if key in volume.labels:
                places = tuple(sorted(volume.labels[key].split(_SEVERAL)))
                found.zones.append(Requirement(key, "In", places))
        if volume.spec.csi is not None:
            driver = str(volume.spec.csi.get("driver", ""))
            found.attachments.append(Attachment(driver, str(volume.spec.csi.get("volumeHandle", volume.name))))

    def _add_unbound(self, found: _Found, claim: PersistentVolumeClaim) -> None:
        kind = self._cache.find(STORAGECLASSES, StorageClass, ("", claim.spec.storage_class_name or ""))
        if kind is None or kind.volume_binding_mode != WAITS_FOR_POD or claim.spec.volume_name:
            found.unbound.append(f"{claim.name} is not bound")
            return
        sharing = _sharing(claim)
        shared = sharing is Sharing.TASK or self._is_shared(claim)
        key = _key(claim) if shared else ""
        options, made = self._ways(claim, kind)
        found.add(claim, Claim(options, open=True, key=key, sharing=sharing))
        if made:
            found.attachments.append(Attachment(kind.provisioner, key))

    def _is_shared(self, claim: PersistentVolumeClaim) -> bool:
        users = self._cache.pods_using(key_of(claim))
        return next(users, None) is not None and next(users, None) is not None

    def _ways(self, claim: PersistentVolumeClaim, kind: StorageClass) -> tuple[tuple[VolumeOption, ...], bool]:
        """What could serve a claim, in the order of preference; and whether a volume could be made for it."""
        chosen = claim.annotations.get(SELECTED_NODE)
        if chosen and kind.provisioner != NO_PROVISIONER:
            # It is being made for that node already.
            return (VolumeOption((NodeTerm(names=(Requirement("metadata.name", "In", (chosen,)),)),)),), True
        promised = [
            each
            for each in self._cache.volumes_for(key_of(claim))
            if is_for(each.spec.claim_ref, claim) and not each.deleting
        ]
        if promised:
            return tuple(_option(each, claim) for each in promised), False
        spec = claim.spec
        wanted = (
            kind.name,
            units_of(requested(claim)),
            tuple(sorted(spec.access_modes or ())),
            spec.volume_mode,
            repr(spec.selector),
        )
        options = self._options.get(wanted)
        if options is None:
            free = (self._known.setdefault(each, each) for each in self._free_volumes(claim, kind))
            options = self._options[wanted] = tuple(free)
        # A provisioner cannot make what a selector asks for: its volumes have no labels yet.
        makes = kind.provisioner != NO_PROVISIONER and spec.selector is None
        if makes:
            options = (*options, VolumeOption(_made_at(kind)))
        return options, makes

    def _free_volumes(self, claim: PersistentVolumeClaim, kind: StorageClass) -> Iterator[VolumeOption]:
        """Volumes that fit a claim, the smallest first."""
        try:
            free = [
                each
                for each in self._cache.unclaimed_volumes(kind.name)
                if each.spec.claim_ref is None
                and not each.deleting
                and each.status.phase not in _GONE
                and fits(each, claim)
            ]
        except SelectorError as error:
            raise UnreadableError(f"persistentvolumeclaim {claim.name}: spec.selector", str(error)) from None
        for volume in sorted(free, key=lambda each: (size_of(each), each.name)):
            try:
                yield _option(volume, claim)
            except UnreadableError:
                continue  # nobody knows from where it can be reached; the others are as good as before


class _Found:
    """What the claims of one pod add up to."""

    def __init__(self) -> None:
        self.claims: list[tuple[int, Key, Claim]] = []  # with their sizes
        self.zones: list[Requirement] = []
        self.attachments: list[Attachment] = []
        self.unbound: list[str] = []

    def add(self, claim: PersistentVolumeClaim, wanted: Claim) -> None:
        if all(key != key_of(claim) for _, key, _ in self.claims):
            self.claims.append((units_of(requested(claim)), key_of(claim), wanted))


def _claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The claims of a pod, each with whether it is the pod's own."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.name}-{volume.name}", True


def _belongs(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.uid


def _key(claim: PersistentVolumeClaim) -> str:
    return "/".join(key_of(claim))


def _sharing(claim: PersistentVolumeClaim) -> Sharing:
    modes = claim.spec.access_modes or ()
    if _ONE_POD in modes:
        return Sharing.TASK
    return Sharing.NODE if tuple(modes) == (_ONE_NODE,) else Sharing.NODES


def _option(volume: PersistentVolume, claim: PersistentVolumeClaim) -> VolumeOption:
    fullness = min(1.0, units_of(requested(claim)) / max(1, size_of(volume)))
    return VolumeOption(_reached_from(volume), fullness, volume.name)


def _reached_from(volume: PersistentVolume) -> tuple[NodeTerm, ...] | None:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return node_terms(affinity.required, f"persistentvolume {volume.name}: spec.nodeAffinity.required")


def _made_at(kind: StorageClass) -> tuple[NodeTerm, ...] | None:
    """The places in which a class can make volumes; None for everywhere."""
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
