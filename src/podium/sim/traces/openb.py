"""openb: pods and nodes of a GPU cluster of Alibaba's (2023), with shares of GPUs and GPU models.

Nodes: `sn, cpu_milli, memory_mib, gpu, model`.  Pods: `name, cpu_milli, memory_mib, num_gpu, gpu_milli`, and
`gpu_spec`, the models that will do with bars between them.  Times, where a list has them, are seconds.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import msgspec

from podium.core.cluster.devices import MOST as MOST_DEVICES
from podium.core.cluster.fragmentation import Shape
from podium.core.model.constraints import WHOLE, DeviceRequest
from podium.errors import UsageError
from podium.sim.traces.stream import Stream
from podium.sim.traces.tables import MOST, Line, read_table

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

_MIB = 1 << 20

# Draws that the authors' simulator makes for other ends: one before the first shuffle, and ten before the nodes
# get their order.
_BEFORE_PODS, _BEFORE_NODES = 1, 10


class GpuNode(msgspec.Struct, frozen=True):
    """A node of the list; amounts in milli-CPU and bytes."""

    name: str
    cpu: int
    memory: int
    devices: int
    model: str


class GpuPod(msgspec.Struct, frozen=True):
    """A pod of the list."""

    name: str
    cpu: int
    memory: int
    devices: DeviceRequest | None = None

    @property
    def shape(self) -> Shape:
        wanted = self.devices
        if wanted is None:
            return Shape(self.cpu)
        return Shape(self.cpu, wanted.share, wanted.count, "|".join(wanted.models))


class Arrivals(msgspec.Struct, frozen=True):
    """In which order pods come, and the order of nodes by which ties are broken."""

    pods: list[GpuPod]
    nodes: list[GpuNode]


def read_nodes(path: Path) -> list[GpuNode]:
    """The nodes, by name."""
    found: dict[str, GpuNode] = {}
    for line in read_table(path, NODE_COLUMNS):
        node = _read_node(line)
        if node.name in found:
            raise line.error("sn", f"there are two nodes of the name {node.name}")
        found[node.name] = node
    return sorted(found.values(), key=lambda node: node.name)


def _read_node(line: Line) -> GpuNode:
    devices = line.whole("gpu", most=MOST_DEVICES)
    return GpuNode(
        name=line.text("sn"),
        cpu=line.whole("cpu_milli"),
        memory=line.whole("memory_mib", most=MOST / _MIB) * _MIB,
        devices=devices,
        model=line.text("model", None if devices else ""),
    )


def read_pods(path: Path, models: Container[str]) -> list[GpuPod]:
    """The pods, by name.  `models` are those that the nodes have."""
    found: dict[str, GpuPod] = {}
    for line in read_table(path, POD_COLUMNS):
        pod = _read_pod(line, models)
        if pod.name in found:
            raise line.error("name", f"there are two pods of the name {pod.name}")
        found[pod.name] = pod
    return sorted(found.values(), key=lambda pod: pod.name)


def _read_pod(line: Line, models: Container[str]) -> GpuPod:
    for column in ("creation_time", "deletion_time", "scheduled_time"):
        line.number_of(column, 0)  # not used, but a list in which they are wrong is broken
    count, share = line.whole("num_gpu", most=MOST_DEVICES), line.whole("gpu_milli")
    devices = None
    if count:
        if not 0 < share <= WHOLE:
            raise line.error("gpu_milli", f"want 1 to {WHOLE}, got {share}")
        if count > 1 and share < WHOLE:
            raise line.error("gpu_milli", f"a share is of one GPU, and this pod wants {count}")
        named = tuple(filter(None, (name.strip() for name in line.text("gpu_spec", "").split("|"))))
        unknown = [name for name in named if name not in models]
        if unknown:
            raise line.error("gpu_spec", f"no node has the GPU model {unknown[0]!r}")
        devices = DeviceRequest(count, share, named)
    return GpuPod(
        line.text("name"), line.whole("cpu_milli"), line.whole("memory_mib", most=MOST / _MIB) * _MIB, devices
    )


def arrivals(pods: list[GpuPod], nodes: list[GpuNode], load: float, seed: int) -> Arrivals:
    """All pods in a random order, then copies of random ones until they ask for `load` times the GPUs there are.

    As the published runs have it: same seeds, same draws.
    """
    stream = Stream(seed)
    stream.skip(_BEFORE_PODS)
    order = list(pods)
    stream.shuffle(order)
    limit = load * sum(node.devices for node in nodes) * WHOLE
    total = sum(pod.shape.size for pod in pods)
    if total == 0 or limit == 0:
        raise UsageError("the load is counted in GPUs, and the pods ask for none or the nodes have none")
    fewer, copies = total > limit, 0
    while total > limit:
        total -= order.pop(stream.below(len(order))).shape.size
    if not total:
        raise UsageError(
            f"{load:g} times the GPUs of the nodes is less than the pods ask for, and without those "
            "that are too many none that asks for GPUs is left: give more nodes, or a larger --load"
        )
    while not fewer:
        pod = pods[stream.below(len(pods))]
        # The authors compare with what a pod asks of one GPU, not of all of its GPUs.
        if total + pod.shape.share > limit:
            break
        copies += 1
        order.append(msgspec.structs.replace(pod, name=f"{pod.name}-copy-{copies}"))
        total += pod.shape.size
    stream.skip(_BEFORE_NODES)
    ranks = stream.permutation(len(nodes))
    ranked = [
        msgspec.structs.replace(node, name=f"{rank:05d}-{node.name}")
        for rank, node in zip(ranks, nodes, strict=True)
    ]
    return Arrivals(order, ranked)
