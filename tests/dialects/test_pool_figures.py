"""The 25 nodes of the published picture: the table, the documents, the status and the metrics say the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podium.cli.pools_table import Pool as Row
from podium.cli.pools_table import printed
from podium.dialects import speaking
from podium.dialects.aibee.names import POOL, POOLS, SCHEDULER
from podium.dialects.aibee.status import pool_patch
from podium.dialects.aibee.types import Pool
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Node, Pod
from podium.runtime.configuration import default_profiles
from podium.runtime.pool_metrics import pool_metrics

GPU = "nvidia.com/gpu"
MEMORY, STORAGE = 4_932_324_954_112, 41_593_386_392_325
CLOSED = {"disablePreemption": True, "disableBorrowing": True, "disableSharing": True}

Document = dict[str, Any]


def metadata(name: str, **more: Any) -> Document:
    return {"name": name, "namespace": "", "uid": name, "resourceVersion": "1", **more}


class Figure:
    """A world that is fed by hand."""

    def __init__(self) -> None:
        self.world = World(speaking())
        self.profiles = default_profiles()
        self.world.serve(self.profiles)
        self.world.reports.serve(self.profiles)
        self._nodes = 0

    def pool(self, name: str, **spec: Any) -> Pool:
        document = {"metadata": metadata(name), "spec": {"nodeSelector": {"matchLabels": {"of": name}}, **spec}}
        pool = msgspec.convert(document, Pool)
        self.world.observe(POOLS, pool)
        return pool

    def nodes(self, pool: str, count: int, capacity: int, allocatable: int, gpus: int = 0) -> None:
        for _ in range(count):
            first = self._nodes == 0
            amounts: Document = {
                "cpu": str(allocatable),
                "memory": str(MEMORY // 25 + (MEMORY % 25 if first else 0)),
                "ephemeral-storage": str(STORAGE // 25 + (STORAGE % 25 if first else 0)),
                "pods": "110",
            }
            if gpus:
                amounts[GPU] = str(gpus)
            document = {
                "metadata": metadata(f"n{self._nodes:02d}", labels={"of": pool}),
                "status": {
                    "capacity": {**amounts, "cpu": str(capacity)},
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
            self._nodes += 1
            self.world.observe(NODES, msgspec.convert(document, Node))

    def pods(
        self, name: str, pool: str | None, count: int, cpu: str = "1", node: str = "", scheduler: str = SCHEDULER
    ) -> None:
        for number in range(count):
            requests = {"cpu": cpu, "memory": "100M"}
            document = {
                "metadata": metadata(
                    f"{name}-{number}",
                    namespace="default",
                    annotations={POOL: pool} if pool is not None else {},
                ),
                "spec": {
                    "schedulerName": scheduler,
                    "nodeName": node,
                    "containers": [{"name": "pi", "image": "perl", "resources": {"requests": requests}}],
                },
                "status": {"phase": "Running" if node else "Pending"},
            }
            self.world.observe(PODS, msgspec.convert(document, Pod))

    def rows(self) -> list[Row]:
        reports, queues = self.world.reports.all(), self.world.cluster.queues
        found = [Row(queue, reports[id]) for id, queue in queues.items() if queue.dialect == "aibee"]
        return sorted(found, key=lambda each: (not each.queue.owns_rest, each.queue.name))


@pytest.fixture(scope="module")
def figure() -> Figure:
    found = Figure()
    for name in ("cpu-pool", "gpu-pool"):
        found.pool(name)
    found.pool("masters", **CLOSED)
    found.nodes("cpu-pool", 7, 48, 42)
    found.nodes("gpu-pool", 14, 40, 34, gpus=8)
    found.nodes("gpu-pool", 1, 48, 42, gpus=2)
    found.nodes("masters", 3, 48, 42)
    # cpu-pool: 127 pods of its own, 162 borrowers, and the pods of the system.
    for number, (own, guests) in enumerate([(18, 23)] * 6 + [(19, 23)]):
        found.pods(f"own{number}", "cpu-pool", own, node=f"n{number:02d}")
        found.pods(f"guest{number}", "gpu-pool", guests, node=f"n{number:02d}")
    found.pods("one-more", None, 1, node="n00", scheduler="default-scheduler")
    found.pods("agent", None, 1, "634m", node="n00", scheduler="default-scheduler")
    # gpu-pool: 417 of its own, 90 borrowers, and the system's.
    for number in range(7, 22):
        found.pods(f"own{number}", "gpu-pool", 27 if number < 19 else 31, node=f"n{number:02d}")
        found.pods(f"guest{number}", "cpu-pool", 6, node=f"n{number:02d}")
    found.pods("gpu-agent", None, 1, "290m", node="n07", scheduler="default-scheduler")
    found.pods("control", None, 13, node="n22", scheduler="default-scheduler")
    found.pods("kubelet", None, 1, "131m", node="n23", scheduler="default-scheduler")
    found.pods("cpu-waits", "cpu-pool", 9620)
    found.pods("gpu-waits", "gpu-pool", 4096)
    found.pods("elsewhere", "gpu-pool", 1, scheduler="default-scheduler")  # waits in no pool's queue
    return found


# Pool, resource, capacity, allocatable, used, shared, pending, total.
PUBLISHED = {
    ("Default", "cpu"): "0 0 0 0 0 938000",
    ("cpu-pool", "cpu"): "336000 294000 289634 162634 9620000 938000",
    ("gpu-pool", "cpu"): "608000 518000 507290 90290 4096000 938000",
    ("masters", "cpu"): "144000 126000 13131 13131 0 938000",
    ("cpu-pool", "nodes"): "7 7 - - - 25",
    ("gpu-pool", "nodes"): "15 15 - - - 25",
    ("masters", "nodes"): "3 3 - - - 25",
    ("gpu-pool", "gpu"): "114 114 0 0 0 114",
}


def test_the_table(figure: Figure) -> None:
    lines = printed(figure.rows(), "table").splitlines()
    assert lines[0] == "-" * 160
    names = ("Pools", "Resource(w)", "Capacity", "Allocatable", "Used", "Shared", "Pending", "Total")
    assert lines[1] == "".join(f"{name:<20}" for name in names).rstrip()
    blocks = {
        pool: dict(zip(("cpu", "gpu", "mem", "storage", "nodes", "pods"), lines[3 + 7 * number :], strict=False))
        for number, pool in enumerate(("Default", "cpu-pool", "gpu-pool", "masters"))
    }
    for (pool, resource), cells in PUBLISHED.items():
        assert blocks[pool][resource].split() == [resource, *cells.split()]
    for pool, marks in (("Default", "√"), ("cpu-pool", "√"), ("gpu-pool", "√"), ("masters", "x")):
        assert blocks[pool]["mem"].startswith(f"{pool:<20}mem")
        assert blocks[pool]["storage"].startswith(f"(p={marks},b={marks},s={marks})")
    for pool, pods in (("cpu-pool", 770), ("gpu-pool", 1650), ("masters", 330)):
        assert blocks[pool]["pods"].split()[1:3] == [str(pods)] * 2
    assert blocks["cpu-pool"]["pods"].split()[5] == "9620"
    totals = {resource: blocks["masters"][resource].split()[-1] for resource in ("mem", "storage", "pods", "gpu")}
    assert totals == {"mem": str(MEMORY), "storage": str(STORAGE), "pods": "2750", "gpu": "114"}


def test_documents_say_the_same(figure: Figure) -> None:
    found = json.loads(printed(figure.rows(), "json"))
    by_name = {each["name"]: each for each in found["pools"]}
    assert list(by_name) == ["Default", "cpu-pool", "gpu-pool", "masters"]
    assert by_name["masters"]["flags"] == {"preemption": False, "borrowing": False, "sharing": False}
    cpu = by_name["cpu-pool"]
    assert (cpu["capacity"]["cpu"], cpu["allocatable"]["cpu"], cpu["used"]["cpu"]) == ("336", "294", "289634m")
    assert (cpu["shared"]["cpu"], cpu["pending"]["cpu"], cpu["pending"]["pods"]) == ("162634m", "9620", "9620")
    assert (cpu["nodeCount"], len(cpu["nodes"]), cpu["pods"]) == (7, 7, 290)
    assert cpu["borrowed"]["cpu"] == "90"
    assert found["total"]["cpu"] == "938"
    assert (found["total"]["nodes"], found["total"][GPU]) == ("25", "114")
    assert printed(figure.rows(), "name").split() == list(by_name)
    assert "Borrowed" in printed(figure.rows(), "wide")


def test_so_do_status_and_metrics(figure: Figure) -> None:
    reports = figure.world.reports.all()
    patch = pool_patch(figure.pool("gpu-pool"), reports["aibee/gpu-pool"])
    assert patch is not None
    status = patch.patch["status"]
    assert (status["used"]["cpu"], status["shared"]["cpu"], status["system"]["cpu"]) == (
        "507290m",
        "90290m",
        "290m",
    )
    assert (status["nodeCount"], status["pending"]["pods"]) == (15, "4096")
    scheduler = Scheduler(figure.world, figure.profiles)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in pool_metrics(figure.world, scheduler)
        for sample in metric.samples
    }
    details = "scheduler_pool_resource_details"
    assert samples[details, "masters", "cpu", "used"] == samples[details, "masters", "cpu", "shared"] == 13131
    assert samples[details, "cpu-pool", "pods", "pending"] == 9620
    assert samples[details, "default", "nodes", "capacity"] == 0
    assert samples["scheduler_pool_features", "masters", "sharing"] == 0
    assert samples["scheduler_pool_features", "default", "preemption"] == 1
    assert samples["scheduler_pool_nodes", "gpu-pool", "n07"] == 1
    assert samples["scheduler_pool_queue_details", "gpu-pool", "active"] == 4096
    assert samples["scheduler_pool_queue_pods", "cpu-pool", "default/cpu-waits-0", "active"] == 1
