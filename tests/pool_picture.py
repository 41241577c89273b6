"""The picture of docs/aibee.md: who uses the CPUs of a GPU pool over time, from a run in virtual time."""

from __future__ import annotations

from functools import partial
from typing import Any

from podium.dialects import speaking
from podium.dialects.aibee.names import POOL, SCHEDULER
from podium.dialects.aibee.workloads import job, pool
from podium.dialects.workloads import Ask
from podium.embedded.nodes.shapes import Shape, node_document
from podium.kube.resources import PODS
from podium.kube.wire import Pod
from podium.runtime.configuration import default_profiles
from podium.sim.drawing.charts import Curve, curves
from podium.sim.drawing.svg import standalone
from podium.sim.virtual import VirtualCluster

END, STEP = 300.0, 2.0
# When Jobs of the GPU pool come: so many pods of 2 CPUs and 2 GPUs, for so long.
TRAININGS = ((60.0, 4, 60.0), (180.0, 2, 40.0))

Document = dict[str, Any]


def _job(name: str, home: str, pods: int, seconds: float, cpu: int, gpus: int = 0) -> Document:
    ask = Ask(cpu=cpu, gpus=gpus, seconds=seconds, scheduler=SCHEDULER, annotations={POOL: home})
    return job(name, pods, ask, backoffLimit=3)


def _start(cluster: VirtualCluster, document: Document) -> None:
    cluster.server.apply(document)


def play() -> list[tuple[float, int, int, int]]:
    """Over time, in CPUs: what CPU Jobs use at home and on GPU servers, and what GPU Jobs use."""
    cluster = VirtualCluster(default_profiles(), speaking())
    for number, (name, shape) in enumerate((("c1", Shape(cpu=4)), ("g1", Shape(cpu=8, gpus=8)))):
        cluster.server.apply(node_document(shape, name, number, cluster.now))
    cluster.server.apply(pool("cpu-pool", "c1"))
    cluster.server.apply(pool("gpu-pool", "g1"))
    cluster.at(10.0, partial(_start, cluster, _job("crunch", "cpu-pool", 12, END, 1)))
    for number, (at, pods, seconds) in enumerate(TRAININGS):
        document = _job(f"train-{number}", "gpu-pool", pods, seconds, 2, 2)
        cluster.at(at, partial(_start, cluster, document))
    found: list[tuple[float, int, int, int]] = []

    def look() -> None:
        used = {("crunch", "c1"): 0, ("crunch", "g1"): 0, ("train", "g1"): 0}
        for each in cluster.server.objects(PODS):
            if isinstance(each, Pod) and each.status.phase == "Running" and not each.deleting:
                kind = each.name.partition("-")[0]
                used[kind, each.spec.node_name] += 1 if kind == "crunch" else 2
        at_home, borrowed, trained = used.values()
        found.append((cluster.elapsed, at_home, borrowed, trained))

    for number in range(int(END / STEP) + 1):
        cluster.at(number * STEP, look)
    cluster.run(until=END)
    return found


def picture() -> str:
    samples = play()
    times = [sample[0] for sample in samples]
    names = ("CPU Jobs at home", "CPU Jobs on GPU servers", "GPU Jobs")
    lines = [Curve(name, times, [sample[place] for sample in samples]) for place, name in enumerate(names, 1)]
    about = (
        "CPU Jobs borrow the CPUs of idle GPU servers; they leave when GPU Jobs come, and come back after them."
    )
    return standalone(curves("pools", "CPUs in use", about, lines, x_end=END))
