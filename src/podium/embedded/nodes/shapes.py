"""Node documents: what a simulated node looks like when its kubelet has just registered it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from podium.embedded.nodes.addresses import MOST_NODES, node_address, pod_range
from podium.kube.quantity import canonical_resource
from podium.kube.times import format_time

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
KUBELET_VERSION = "v1.36.3"

# What a node has when nobody says: a common server of its kind.
DEFAULT_CPU, DEFAULT_MEMORY = "64", "256Gi"
DEFAULT_GPU_CPU, DEFAULT_GPU_MEMORY = "96", "768Gi"
DEFAULT_PODS = 110
DEFAULT_STORAGE = "1Ti"


class TaintShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    key: str
    effect: str
    value: str = ""


class Shape(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A group of nodes that are alike.  Quantities left empty take the default of nodes with or without GPUs."""

    name: str = "node"
    count: int = 1
    cpu: str | int | float = ""
    memory: str | int = ""
    gpus: int = 0
    gpu_model: str = ""
    pods: int = DEFAULT_PODS
    ephemeral_storage: str | int = DEFAULT_STORAGE
    resources: dict[str, str | int] = {}  # more extended resources, e.g. rdma/hca
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: list[TaintShape] = []
    zone: str = ""
    rack: str = ""
    instance_type: str = ""


def capacity_of(shape: Shape) -> dict[str, str]:
    """The resource list of each node of the group, in canonical text."""
    cpu = shape.cpu or (DEFAULT_GPU_CPU if shape.gpus else DEFAULT_CPU)
    memory = shape.memory or (DEFAULT_GPU_MEMORY if shape.gpus else DEFAULT_MEMORY)
    found = {"cpu": cpu, "memory": memory, "ephemeral-storage": shape.ephemeral_storage, "pods": shape.pods}
    if shape.gpus:
        found[GPU] = shape.gpus
    found |= shape.resources
    return {name: canonical_resource(quantity) for name, quantity in found.items()}


def node_document(shape: Shape, name: str, index: int, now: float) -> Document:
    """One whole Node, as its kubelet would have registered it.  `index` is its number among all nodes."""
    cidr = pod_range(index)
    capacity = capacity_of(shape)
    labels = well_known_labels(name) | {"node.kubernetes.io/instance-type": shape.instance_type or _type(capacity)}
    if shape.gpus:
        labels["nvidia.com/gpu.present"] = "true"
        labels["nvidia.com/gpu.count"] = str(shape.gpus)
    for label, value in (
        ("nvidia.com/gpu.product", shape.gpu_model),
        ("topology.kubernetes.io/zone", shape.zone),
        ("podium.dev/rack", shape.rack),
    ):
        if value:
            labels[label] = value
    spec: Document = {"podCIDR": cidr, "podCIDRs": [cidr]}
    if shape.taints:
        spec["taints"] = msgspec.to_builtins(shape.taints)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | shape.labels, "annotations": dict(shape.annotations)},
        "spec": spec,
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "conditions": healthy_conditions(now),
            "addresses": addresses(name, cidr),
            "nodeInfo": node_info(name),
        },
    }


def node_documents(
    shapes: Iterable[Shape], now: float, known: Mapping[str, str] | None = None
) -> Iterator[Document]:
    """The nodes of all groups, but for those that are there already.  `known` are these, with their pod ranges.

    Names do not depend on the count of a group, so that a larger count later only adds.
    """
    known = known or {}
    taken = set(known.values())
    free = (index for index in range(MOST_NODES) if pod_range(index) not in taken)
    for shape in shapes:
        for number in range(shape.count):
            name = f"{shape.name}-{number:03d}"
            if name not in known:
                yield node_document(shape, name, next(free), now)


def well_known_labels(name: str) -> dict[str, str]:
    """The labels that every kubelet puts on its node."""
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }


def addresses(name: str, cidr: str) -> list[Document]:
    own = node_address(cidr)
    found = [{"type": "InternalIP", "address": own}] if own else []
    return [*found, {"type": "Hostname", "address": name}]


def node_info(name: str) -> Document:
    def identity(of: str) -> str:
        digest = hashlib.sha256(f"{of}/{name}".encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"

    return {
        "machineID": identity("machine").replace("-", ""),
        "systemUUID": identity("system"),
        "bootID": identity("boot"),
        "kernelVersion": "simulated",
        "osImage": "podium simulated",
        "containerRuntimeVersion": "podium://simulated",
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


# What a healthy kubelet says of its node: type, status, reason, message.
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def healthy_conditions(now: float) -> list[Document]:
    at = format_time(now)
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": at,
            "lastTransitionTime": at,
        }
        for kind, status, reason, message in HEALTHY
    ]


def _type(capacity: Mapping[str, str]) -> str:
    gpus = f"-{capacity[GPU]}gpu" if GPU in capacity else ""
    return f"podium-{capacity['cpu']}cpu-{capacity['memory'].lower()}{gpus}"
