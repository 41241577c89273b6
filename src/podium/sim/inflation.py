"""The inflation experiment: pods come one at a time and never leave, until they have asked for more than there is.

Each pod is placed before the next one comes, or refused and not asked again.  With nothing leaving, that is what
one scheduling cycle does with all of them in line: it goes gang by gang in the order of arrival, and a sample is
taken between two steps.  So the run needs no clock and no store: it is `core.cycle`, with its ordinary allocator
and plugins, over a cluster that was filled in directly.

What is read off, as published: GPU allocation and the fragmented part of the free GPUs, by the percentage of the
cluster's GPUs that has been asked for so far.  A figure at X % is the mean of the samples that round to X.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from podium.core.actions.allocate import Allocate
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.fragmentation import Shape, Target, target_of
from podium.core.cluster.nodes import NodeFacts
from podium.core.cycle import cycle
from podium.core.model.constraints import WHOLE, Constraints
from podium.core.model.decisions import Bind, Decision, Refuse
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, Queue
from podium.core.model.resources import CPU
from podium.core.profiles.profile import Profile
from podium.dialects.kubernetes.devices import GPU_MILLI
from podium.sim.figures import MAP_ROWS, MapRow
from podium.sim.traces.openb import Arrivals, GpuNode, GpuPod

_PODS_OF_A_NODE = 1001
_QUEUE = "inflation"
_TOGETHER = 256  # samples that are measured at once
_NOTHING = np.zeros((0, 1), dtype=np.int64)


class Point(msgspec.Struct, frozen=True):
    """How things stood when so much had been asked for; all in per cent."""

    arrived_percent: int
    gpu_allocation_percent: float
    cpu_allocation_percent: float
    memory_allocation_percent: float
    fragmented_percent: float  # of the free GPUs


class ShareMap(msgspec.Struct, frozen=True):
    """What of each node's GPUs is given out, by what has been asked for; nodes of one model stand together.

    `nodes_a_row` of them share a row, which is called by their models.
    """

    arrived_percent: list[int]
    nodes_a_row: int
    rows: list[MapRow]


class Inflation(msgspec.Struct, frozen=True):
    """What came of a run."""

    nodes: int
    gpus: int
    pods: int
    placed: int
    refused: int
    gpu_allocation_percent: float  # at the end of the curve
    fragmented_percent: float
    curve: list[Point]
    map: ShareMap
    trace_hash: str  # of all placements, in order


class _Sample(msgspec.Struct):
    arrived: float
    allocated: float
    cpu: float
    memory: float
    idle: int  # thousandths of GPUs
    fragmented: float = 0.0


def inflate(
    arrivals: Arrivals,
    originals: Sequence[GpuPod],
    profile: Profile,
    progress: Callable[[int], None] = lambda done: None,
) -> Inflation:
    """Runs the experiment.  The usual workload, for those who ask, is that of `originals`."""
    cluster = _cluster(arrivals, Counter(pod.shape for pod in originals))
    # All are equal and nothing leaves: admission, preemption and reclaim have nothing to say.
    profile = msgspec.structs.replace(profile, actions=(Allocate(),))
    pods = {str(number): pod for number, pod in enumerate(arrivals.pods)}
    gpus = sum(node.devices for node in arrivals.nodes)
    meter = _Meter(cluster, arrivals.nodes)
    digest = hashlib.sha256()
    placed = 0
    for done, (pod, node, devices) in enumerate(_steps(cluster, profile, pods), 1):
        if node:
            placed += 1
            digest.update(f"{pod.name} {node} {devices}\n".encode())
        meter.take(pod, node)
        progress(done)
    curve = meter.curve()
    return Inflation(
        nodes=len(arrivals.nodes),
        gpus=gpus,
        pods=len(pods),
        placed=placed,
        refused=len(pods) - placed,
        gpu_allocation_percent=curve[-1].gpu_allocation_percent,
        fragmented_percent=curve[-1].fragmented_percent,
        curve=curve,
        map=meter.map(),
        trace_hash=digest.hexdigest(),
    )


def _steps(
    cluster: Cluster, profile: Profile, pods: Mapping[str, GpuPod]
) -> Iterator[tuple[GpuPod, str, tuple[int, ...]]]:
    """Each pod as it is decided on, with its node and devices; an empty name when it is refused."""
    for decisions in cycle(cluster, profile, 0.0):
        for gang, bind in _outcomes(decisions).items():
            if bind is None:
                yield pods[gang], "", ()
            else:
                yield pods[gang], bind.node, cluster.tasks[bind.task].devices


def _outcomes(decisions: Sequence[Decision]) -> dict[str, Bind | None]:
    """By gang where it goes; a gang that is only refused goes nowhere."""
    found: dict[str, Bind | None] = {}
    for decision in decisions:
        if isinstance(decision, Bind):
            found[decision.gang] = decision
        elif isinstance(decision, Refuse):
            found.setdefault(decision.gang, None)
    return found


class _Meter:
    """Takes a sample after each pod.

    A pod changes one node.  What is fragmented there afterwards is worked out for many pods at once: the measure
    costs nearly the same for one node as for some hundred.
    """

    def __init__(self, cluster: Cluster, nodes: Sequence[GpuNode]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._target: Target | None = target_of(cluster)
        self._capacity = max(1, sum(node.devices for node in nodes) * WHOLE)
        self._cpu_there = max(1, sum(node.cpu for node in nodes))
        self._memory_there = max(1, sum(node.memory for node in nodes))
        self._arrived = self._allocated = self._cpu = self._memory = 0
        self._placed: list[tuple[int, str, int]] = []  # per cent that had arrived, node, thousandths of GPUs
        rows = np.arange(cluster.nodes.count, dtype=np.int64)
        self._models = cluster.nodes.devices.models(rows)
        free_cpu = cluster.nodes.allocatable[rows, CPU] - cluster.nodes.used[rows, CPU]
        self._by_row = self._fragmented(rows, cluster.nodes.devices.free(rows), free_cpu)
        self._unmeasured: list[_Sample] = []
        self._changed: list[tuple[int, np.ndarray, int]] = []  # of those: row (-1: none), free devices, free CPU
        self._samples: dict[int, list[_Sample]] = {}

    def _fragmented(self, rows: np.ndarray, free: np.ndarray, cpu: np.ndarray) -> np.ndarray:
        if self._target is None:
            return np.zeros(len(rows))
        return self._target.fragmented(free, cpu, self._models[rows])

    def take(self, pod: GpuPod, node: str) -> None:
        self._arrived += pod.shape.size
        if node:
            self._allocated += pod.shape.size
            self._cpu += pod.cpu
            self._memory += pod.memory
            self._placed.append((100 * self._arrived // self._capacity, node, pod.shape.size))
            nodes = self._cluster.nodes
            row = nodes.rows[node]
            free_cpu = int(nodes.allocatable[row, CPU]) - int(nodes.used[row, CPU])
            free = nodes.devices.free(slice(row, row + 1))
            self._changed.append((row, free, free_cpu))
        else:
            self._changed.append((-1, _NOTHING, 0))
        self._unmeasured.append(
            _Sample(
                100 * self._arrived / self._capacity,
                round(100 * self._allocated / self._capacity, 2),
                100 * self._cpu / self._cpu_there,
                100 * self._memory / self._memory_there,
                self._capacity - self._allocated,
            )
        )
        if len(self._unmeasured) == _TOGETHER:
            self._measure()

    def _measure(self) -> None:
        """Gives the samples that were taken since the last time what was fragmented then."""
        placed = [each for each in self._changed if each[0] >= 0]
        found: list[float] = []
        if placed:
            rows = np.array([row for row, _, _ in placed], dtype=np.int64)
            cpu = np.array([free_cpu for _, _, free_cpu in placed], dtype=np.int64)
            found = self._fragmented(rows, np.hstack([free for _, free, _ in placed]), cpu).tolist()
        values = iter(found)
        for sample, (row, _, _) in zip(self._unmeasured, self._changed, strict=True):
            if row >= 0:
                self._by_row[row] = next(values)
            share = 100 * float(self._by_row.sum()) / sample.idle if sample.idle else 0.0
            sample.fragmented = round(share, 2)
            self._samples.setdefault(round(sample.arrived), []).append(sample)
        self._unmeasured.clear()
        self._changed.clear()

    def curve(self) -> list[Point]:
        self._measure()
        return [
            Point(
                percent,
                round(sum(each.allocated for each in samples) / len(samples), 2),
                round(sum(each.cpu for each in samples) / len(samples), 2),
                round(sum(each.memory for each in samples) / len(samples), 2),
                round(sum(each.fragmented for each in samples) / len(samples), 2),
            )
            for percent, samples in sorted(self._samples.items())
        ]

    def map(self) -> ShareMap:
        nodes = sorted((node for node in self._nodes if node.devices), key=lambda node: (node.model, node.name))
        together = max(1, -(-len(nodes) // MAP_ROWS))
        row_of = {node.name: place // together for place, node in enumerate(nodes)}
        rows = -(-len(nodes) // together)
        last = 100 * self._arrived // self._capacity
        given, has = np.zeros((rows, last + 1)), np.zeros(rows)
        models: list[dict[str, None]] = [{} for _ in range(rows)]
        for node in nodes:
            has[row_of[node.name]] += node.devices * WHOLE
            models[row_of[node.name]][node.model] = None
        for percent, name, size in self._placed:
            if name in row_of:
                given[row_of[name], percent] += size
        shares = np.round(100 * np.cumsum(given, axis=1) / np.maximum(has, 1)[:, None], 1)
        found = [MapRow(", ".join(models[row]), shares[row].tolist()) for row in range(rows)]
        return ShareMap(list(range(last + 1)), together, found)


def _cluster(arrivals: Arrivals, workload: Mapping[Shape, float]) -> Cluster:
    cluster = Cluster()
    cluster.workload = workload
    cluster.put_queue(Queue(_QUEUE, _QUEUE))
    for node in arrivals.nodes:
        cluster.put_node(_node(node))
    for number, pod in enumerate(arrivals.pods):
        id = str(number)
        cluster.put_gang(GangFacts(id, _QUEUE, pod.name, _QUEUE, created=number, phase=Phase.INQUEUE))
        cluster.put_task(_task(id, pod))
    return cluster


def _node(node: GpuNode) -> NodeFacts:
    amounts = {"cpu": node.cpu, "memory": node.memory, "pods": _PODS_OF_A_NODE, GPU_MILLI: node.devices * WHOLE}
    return NodeFacts(node.name, node.name, amounts, devices=node.devices, device_model=node.model)


def _task(id: str, pod: GpuPod) -> TaskFacts:
    amounts = {"cpu": pod.cpu, "memory": pod.memory, GPU_MILLI: pod.shape.size}
    return TaskFacts(id, _QUEUE, pod.name, id, amounts, Constraints(devices=pod.devices), created=float(id))
