"""Which volume fits a claim, which class is the default, and from where a new volume can be reached."""

from __future__ import annotations

from podium.kube.cache import Cache
from podium.kube.changes import Document
from podium.kube.quantity import QuantityError, parse_units
from podium.kube.resources import CSINODES, STORAGECLASSES
from podium.kube.selectors import from_selector, matches_node_terms
from podium.kube.times import parse_time
from podium.kube.wire import CSINode, Node, PersistentVolume, PersistentVolumeClaim, StorageClass

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


def requested(claim: PersistentVolumeClaim) -> str | int | float:
    requests = (claim.spec.resources.requests if claim.spec.resources is not None else None) or {}
    return requests.get("storage", "0")


def best_volume(
    claim: PersistentVolumeClaim, cache: Cache, node: Node | None, *, only_promised: bool
) -> PersistentVolume | None:
    """The smallest free volume that fits; one that a user has promised to the claim goes before all others."""
    free: list[PersistentVolume] = []
    for volume in cache.unclaimed_volumes(claim.spec.storage_class_name or ""):
        if volume.deleting:
            continue
        reference = volume.spec.claim_ref
        if reference is not None:
            if (reference.namespace, reference.name) == (claim.namespace, claim.name):
                return volume
        elif not only_promised and fits(volume, claim, node):
            free.append(volume)
    return min(free, key=lambda each: (size_of(each), each.name), default=None)


def fits(volume: PersistentVolume, claim: PersistentVolumeClaim, node: Node | None = None) -> bool:
    """Whether a volume can serve a claim, and reach a node if one is given."""
    spec = claim.spec
    if volume.spec.volume_mode != spec.volume_mode or size_of(volume) < units_of(requested(claim)):
        return False
    if not set(spec.access_modes or ()) <= set(volume.spec.access_modes or ()):
        return False
    if spec.selector is not None and not from_selector(spec.selector)(volume.labels):
        return False
    affinity = volume.spec.node_affinity
    if node is not None and affinity is not None and affinity.required is not None:
        return matches_node_terms(affinity.required.node_selector_terms, node.labels, node.name)
    return True


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
