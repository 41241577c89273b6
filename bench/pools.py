"""Whether pools feel each other.  `python -m bench.pools [--waiting N] [--pods N] [--borrowing]`

Pool a is full, and many pods wait for it, each of a spec of its own; every second one of its pods ends, so that
the pool gains room and loses it again.  Pods come one after the other to pool b: their waits from creation to
bind, seen by a watch, are compared with those of the same pods before anything waited, in the same process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import uvloop
from tests.up import podium_up

from bench.bound import Bound, watching
from bench.population import NAMESPACE, Document, create_all
from bench.report import Figure, Report, percentile, publish
from podium.dialects.aibee.names import POOL, POOLS, SCHEDULER
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import NODES, PODS

NODES_OF_A, NODES_OF_B = 10, 10
CPUS = 8
PAUSE = (0.02, 0.1)
PATIENCE = 120.0
QUIET_SHARE = 0.3  # of a core
MEDIAN, TAIL = 1.5, 3.0  # times the waits on an idle cluster


def _pool(name: str, borrowing: bool) -> Document:
    return {
        "apiVersion": POOLS.api_version,
        "kind": POOLS.kind,
        "metadata": {"name": name},
        "spec": {"nodeSelector": {"matchLabels": {"pool": name}}, "disableBorrowing": not borrowing},
    }


def _node(name: str, pool: str) -> Document:
    room = {"cpu": str(CPUS), "memory": "64Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": pool}},
        "status": {"capacity": room, "allocatable": room, "conditions": ready},
    }


def _pod(name: str, pool: str, cpu: str, memory: str = "1Mi") -> Document:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": {POOL: pool}},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "image": "app", "resources": resources}],
        },
    }


async def one_by_one(client: Client, bound: Bound, prefix: str, count: int) -> list[float]:
    """The waits of pods of pool b; each is gone before the next comes."""
    waits = []
    for number in range(count):
        name = f"{prefix}-{number}"
        sent = time.monotonic()
        await client.create(PODS, NAMESPACE, _pod(name, "b", "1"))
        waits.append(await bound.pod(name, PATIENCE) - sent)
        await client.delete(PODS, NAMESPACE, name, grace=0)
        await asyncio.sleep(random.uniform(*PAUSE))
    return waits


async def churn(client: Client, bound: Bound, count: int) -> None:
    """Every second a pod of pool a ends: the oldest of those that run there."""
    gone: set[str] = set()
    while True:
        await asyncio.sleep(1.0)
        name = next((each for each in bound.moments if each.startswith("a-") and each not in gone), None)
        if name is not None:
            gone.add(name)
            await client.delete(PODS, NAMESPACE, name, grace=0)


async def at_rest(pid: int) -> None:
    """Until all that came has been looked at: what is left is writing why each of them waits."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before = cpu_seconds(pid)
        await asyncio.sleep(2.0)
        if cpu_seconds(pid) - before < 2.0 * QUIET_SHARE:
            return


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(
    kubeconfig: Path, pid: int, waiting: int, count: int, borrowing: bool
) -> tuple[list[float], list[float]]:
    transport = HttpTransport(resolve(kubeconfig))
    client = Client(transport)
    await create_all(transport, POOLS, [_pool(name, borrowing) for name in "ab"])
    await create_all(transport, NODES, [_node(f"na-{number}", "a") for number in range(NODES_OF_A)])
    await create_all(transport, NODES, [_node(f"nb-{number}", "b") for number in range(NODES_OF_B)])
    async with watching(transport) as bound:
        await one_by_one(client, bound, "warm", 10)
        idle = await one_by_one(client, bound, "idle", count)
        full = [_pod(f"a-full-{number}", "a", str(CPUS)) for number in range(NODES_OF_A)]
        await create_all(transport, PODS, full)
        await bound.count(10 + count + NODES_OF_A, PATIENCE)
        # Most want more than half a node, so that few of them borrow; each asks for another amount of memory.
        specs = [_pod(f"a-{n}", "a", f"{5000 + n % 3000}m", f"{10 + n}Mi") for n in range(waiting)]
        await create_all(transport, PODS, specs)
        await at_rest(pid)
        task = asyncio.create_task(churn(client, bound, waiting))
        await asyncio.sleep(2.0)
        loaded = await one_by_one(client, bound, "busy", count)
        task.cancel()
    await transport.close()
    return idle, loaded


def report(idle: list[float], loaded: list[float], waiting: int) -> Report:
    figures = []
    for part, most in ((0.5, MEDIAN), (0.99, TAIL)):
        before, after = (percentile(each, part) * 1000 for each in (idle, loaded))
        label = f"p{part * 100:.0f}"
        figures += [
            Figure(f"alone, {label}", before, "ms"),
            Figure(f"beside {waiting:,} waiting pods, {label}", after, "ms", most * before, at_least=False),
        ]
    return Report("pools", f"pods of one pool beside {waiting:,} that wait for another one", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--borrowing", action="store_true", help="the full pool may borrow from the other one")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as directory,
        podium_up(Path(directory), "--nodes", "0") as up,
    ):
        kubeconfig = Path(directory) / "kubeconfig"
        idle, loaded = uvloop.run(measure(kubeconfig, up.pid, options.waiting, options.pods, options.borrowing))
    result = report(idle, loaded, options.waiting)
    publish(result)
    return 0 if result.good else 1


if __name__ == "__main__":
    sys.exit(main())
