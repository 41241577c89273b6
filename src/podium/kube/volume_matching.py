"""Claims and volumes, as schedulers and volume controllers speak of them to each other: which volume fits a claim,
which class is the default, from where a new volume can be reached, and the marks by which they are given away.
"""

from __future__ import annotations

from podium.kube.cache import Cache
from podium.kube.changes import Document
from podium.kube.quantity import QuantityError, parse_units
from podium.kube.resources import CSINODES, PERSISTENTVOLUMECLAIMS, STORAGECLASSES
from podium.kube.selectors import from_selector, matches_node_terms
from podium.kube.times import parse_time
from podium.kube.wire import (
    CSINode,
    Node,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

# On claims: the node that a volume is to be made for, as the scheduler chose it.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
# On claims: the volume it names is its own.
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
# On whichever side was bound by a controller and not by its author: it may be unbound again.
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
# Classes of volumes that somebody makes by hand.
NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAITS_FOR_POD = "WaitForFirstConsumer"

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
ZONE = "topology.kubernetes.io/zone"


class NoSuchPlaceError(Exception):
    """The chosen node lies outside of what the storage class allows."""


def default_class(cache: Cache) -> StorageClass | None:
    """The class marked as default; of several the youngest."""
    marked = [
        each
        for each in cache.all(STORAGECLASSES)
        if isinstance(each, StorageClass) and each.annotations.get(DEFAULT_CLASS) == "true"
    ]
    return max(marked, key=lambda c: (parse_time(c.metadata.creation_timestamp), c.name), default=None)


def is_for(reference: ObjectReference | None, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume's claimRef means this claim; one without a UID was written by a user and means the name."""
    if reference is None or (reference.namespace, reference.name) != (claim.namespace, claim.name):
        return False
    return reference.uid in ("", claim.uid)


def reference_to(claim: PersistentVolumeClaim) -> Document:
    """What a volume that is a claim's own has as its claimRef."""
    return {
        "apiVersion": PERSISTENTVOLUMECLAIMS.api_version,
        "kind": PERSISTENTVOLUMECLAIMS.kind,
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
    }


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim has its volume for good: naming one is not enough, both sides must have agreed."""
    return bool(claim.spec.volume_name) and (
        BIND_COMPLETED in claim.annotations or claim.status.phase in ("Bound", "Lost")
    )


def requested(claim: PersistentVolumeClaim) -> str | int | float:
    requests = (claim.spec.resources.requests if claim.spec.resources is not None else None) or {}
    return requests.get("storage", "0")


def best_volume(
    claim: PersistentVolumeClaim, cache: Cache, node: Node | None, *, only_promised: bool
) -> PersistentVolume | None:
    """The smallest free volume that fits; one that a user has promised to the claim goes before all others."""
    kind = claim.spec.storage_class_name or ""
    for volume in cache.volumes_for((claim.namespace, claim.name)):
        reference = volume.spec.claim_ref
        given_away = reference is None or bool(reference.uid)
        if volume.spec.storage_class_name == kind and not given_away and not volume.deleting:
            return volume
    if only_promised:
        return None
    for volume in cache.unclaimed_volumes(kind, units_of(requested(claim))):
        if volume.spec.claim_ref is None and not volume.deleting and fits(volume, claim, node):
            return volume
    return None


def fits(volume: PersistentVolume, claim: PersistentVolumeClaim, node: Node | None = None) -> bool:
    """Whether a volume can serve a claim, and reach a node if one is given."""
    spec = claim.spec
    if volume.spec.volume_mode != spec.volume_mode or size_of(volume) < units_of(requested(claim)):
        return False
    if not set(spec.access_modes or ()) <= set(volume.spec.access_modes or ()):
        return False
    if spec.selector is not None and not from_selector(spec.selector)(volume.labels):
        return False
    return node is None or reaches(volume, node)


def reaches(volume: PersistentVolume, node: Node) -> bool:
    """Whether a volume can be used on a node."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return matches_node_terms(affinity.required.node_selector_terms, node.labels, node.name)


def size_of(volume: PersistentVolume) -> int:
    return units_of((volume.spec.capacity or {}).get("storage", "0"))


def units_of(quantity: str | int | float) -> int:
    try:
        return parse_units(quantity)
    except QuantityError:
        return 0


def places(kind: StorageClass, node: Node | None, cache: Cache) -> Document | None:
    """The node affinity of a new volume: the class's topologies, narrowed to the chosen node's place in them.

    A class that allows everything leaves the driver's own topology keys, or the zone; a node without any of them
    reaches a volume that everybody can reach.
    """
    terms = [
        {each["key"]: list(each.get("values") or ()) for each in term.match_label_expressions or ()}
        for term in kind.allowed_topologies or ()
    ]
    if node is None:
        return _affinity(terms) if terms else None
    if terms:
        for term in terms:
            if all(node.labels.get(key) in values for key, values in term.items()):
                return _affinity([{key: [node.labels[key]] for key in term}])
        raise NoSuchPlaceError
    keys = _driver_keys(kind.provisioner, node, cache) or [ZONE]
    here = {key: [node.labels[key]] for key in keys if key in node.labels}
    return _affinity([here]) if here else None


def _driver_keys(driver: str, node: Node, cache: Cache) -> list[str]:
    found = cache.find(CSINODES, CSINode, ("", node.name))
    drivers = found.spec.drivers if found is not None else []
    return next((each.topology_keys or [] for each in drivers if each.name == driver), [])


def _affinity(terms: list[dict[str, list[str]]]) -> Document:
    return {
        "required": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": key, "operator": "In", "values": values} for key, values in term.items()
                    ]
                }
                for term in terms
            ]
        }
    }
