"""Storage: volumes, claims, classes and drivers."""

from __future__ import annotations

from typing import Any

from podium.embedded.printers.cells import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Document,
    Heading,
    Printer,
    age,
    boolean,
    deleting,
    integer,
    items,
    name_of,
    part,
    wide,
)
from podium.kube.quantity import canonical

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
# Where the class of a volume or claim stood before it became a field; it still counts first.
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def volume_cells(volume: Document, now: float) -> list[Any]:
    spec, status = part(volume, "spec"), part(volume, "status")
    claim = spec.get("claimRef")
    return [
        name_of(volume),
        canonical(part(spec, "capacity").get("storage", "0")),
        _modes_text(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if deleting(volume) else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class_of(volume),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(volume, now),
        spec.get("volumeMode") or UNSET,
    ]


def claim_cells(claim: Document, now: float) -> list[Any]:
    spec, status = part(claim, "spec"), part(claim, "status")
    volume = spec.get("volumeName", "")
    return [
        name_of(claim),
        "Terminating" if deleting(claim) else status.get("phase", ""),
        volume,
        canonical(part(status, "capacity").get("storage", "0")) if volume else "",
        _modes_text(status.get("accessModes")) if volume else "",
        _class_of(claim),
        spec.get("volumeAttributesClassName") or UNSET,
        age(claim, now),
        spec.get("volumeMode") or UNSET,
    ]


def _modes_text(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def _class_of(document: Document) -> str:
    annotations = part(document, "metadata", "annotations")
    return annotations.get(_CLASS_ANNOTATION) or part(document, "spec").get("storageClassName") or ""


def storage_class_cells(storage_class: Document, now: float) -> list[Any]:
    annotations = part(storage_class, "metadata", "annotations")
    default = any(annotations.get(key) == "true" for key in _DEFAULT_ANNOTATIONS)
    return [
        name_of(storage_class) + (" (default)" if default else ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy") or "Delete",
        storage_class.get("volumeBindingMode") or "Immediate",
        bool(storage_class.get("allowVolumeExpansion")),
        age(storage_class, now),
    ]


def csi_node_cells(node: Document, now: float) -> list[Any]:
    return [name_of(node), len(items(part(node, "spec"), "drivers")), age(node, now)]


def csi_driver_cells(driver: Document, now: float) -> list[Any]:
    spec = part(driver, "spec")
    tokens = spec.get("tokenRequests")
    return [
        name_of(driver),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(driver, now),
    ]


_VOLUME_MODE = wide("VolumeMode", "Filesystem or Block")

VOLUME = Printer(
    (
        NAME,
        Heading("Capacity", "The size of the volume"),
        Heading("Access Modes", "How the volume can be mounted"),
        Heading("Reclaim Policy", "What becomes of the volume without its claim"),
        Heading("Status", "Whether the volume is available, bound or released"),
        Heading("Claim", "The claim the volume is bound to"),
        Heading("StorageClass", "The class of the volume"),
        Heading("VolumeAttributesClass", "The class of the volume's adjustable attributes"),
        Heading("Reason", "Why the volume is in this state"),
        AGE,
        _VOLUME_MODE,
    ),
    volume_cells,
)
CLAIM = Printer(
    (
        NAME,
        Heading("Status", "Whether the claim is pending, bound or lost"),
        Heading("Volume", "The volume the claim is bound to"),
        Heading("Capacity", "The size of that volume"),
        Heading("Access Modes", "How that volume can be mounted"),
        Heading("StorageClass", "The class of the claim"),
        Heading("VolumeAttributesClass", "The class of the volume's adjustable attributes"),
        AGE,
        _VOLUME_MODE,
    ),
    claim_cells,
)
STORAGE_CLASS = Printer(
    (
        NAME,
        Heading("Provisioner", "What makes the volumes"),
        Heading("ReclaimPolicy", "What becomes of a volume without its claim"),
        Heading("VolumeBindingMode", "When a claim is bound"),
        Heading("AllowVolumeExpansion", "Whether volumes can grow"),
        AGE,
    ),
    storage_class_cells,
)
CSI_NODE = Printer((NAME, integer("Drivers", "How many storage drivers the node has"), AGE), csi_node_cells)
CSI_DRIVER = Printer(
    (
        NAME,
        boolean("AttachRequired", "Whether volumes have to be attached before they are mounted"),
        boolean("PodInfoOnMount", "Whether the driver gets information about the pod"),
        boolean("StorageCapacity", "Whether the driver publishes how much room there is"),
        Heading("TokenRequests", "For whom the driver needs tokens of the pod's account"),
        boolean("RequiresRepublish", "Whether mounted volumes are published again and again"),
        Heading("Modes", "The kinds of volumes the driver makes"),
        AGE,
    ),
    csi_driver_cells,
)
