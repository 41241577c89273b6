"""Claims, volumes, classes, and what a node can attach."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any

from podium.kube.wire.base import LabelSelector, Object, View
from podium.kube.wire.pods import NodeSelector, Resources


class ObjectReference(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    kind: str = ""


class PersistentVolumeClaimSpec(View):
    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: list[str] | None = None
    resources: Resources | None = None
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"


class Phase(View):
    phase: str = ""
    capacity: dict[str, str | int | float] | None = None
    access_modes: list[str] | None = None


class PersistentVolumeClaim(Object):
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: Phase = Phase()


class VolumeNodeAffinity(View):
    required: NodeSelector | None = None


class PersistentVolumeSpec(View):
    capacity: dict[str, str | int | float] | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    volume_mode: str = "Filesystem"
    csi: dict[str, Any] | None = None


class PersistentVolume(Object):
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()


class TopologySelectorTerm(View):
    match_label_expressions: list[dict[str, Any]] | None = None


class StorageClass(Object):
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologySelectorTerm] | None = None


class CSINodeDriver(View):
    name: str
    topology_keys: list[str] | None = None
    allocatable: dict[str, Any] | None = None


class CSINodeSpec(View):
    drivers: list[CSINodeDriver] = []


class CSINode(Object):
    spec: CSINodeSpec = CSINodeSpec()
