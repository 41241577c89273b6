"""Nodes."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

import msgspec

from podium.kube.wire.base import Condition, Object, View


class Taint(View):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(View):
    unschedulable: bool = False
    taints: list[Taint] | None = None
    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class NodeAddress(View):
    type: str
    address: str


class ContainerImage(View):
    names: list[str] | None = None
    size_bytes: int = 0


class NodeSystemInfo(View):
    kubelet_version: str = ""
    container_runtime_version: str = ""


class NodeStatus(View):
    capacity: dict[str, str | int | float] | None = None
    allocatable: dict[str, str | int | float] | None = None
    conditions: list[Condition] | None = None
    addresses: list[NodeAddress] | None = None
    images: list[ContainerImage] | None = None
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Object):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
