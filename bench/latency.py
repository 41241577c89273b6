"""How long a lone pod waits on an idle cluster: from the moment its creation is sent to its bind, seen by a watch.

    python -m bench.latency [--pods N] [--nodes N]

podium and kube-scheduler take turns on the same server, in blocks; only one of them runs at a time.  Pods come one
by one with random pauses, so that no scheduler's rhythm meets that of the measurement.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from bench.bound import Bound, watching
from bench.population import NAMESPACE, READY_NODES, create_nodes, define_volcano, waiting_pod
from bench.report import Figure, Report, percentile, publish
from bench.schedulers import KUBE_SCHEDULER, PODIUM, Scheduler, running
from bench.servers import real_server
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS

COUNT, NODES, BLOCKS = 400, 1000, 4
PAUSE = (0.05, 0.35)
WARM_UP = 5  # of each block, not counted: a process that has just started
PATIENCE = 60.0


async def block(client: Client, bound: Bound, scheduler: Scheduler, names: list[str]) -> list[float]:
    """Waits of some pods, one after the other; each is gone before the next comes."""
    waits = []
    for name in names:
        document = waiting_pod(name, scheduler.pods_of)
        sent = time.monotonic()
        await client.create(PODS, NAMESPACE, document)
        waits.append(await bound.pod(name, PATIENCE) - sent)
        await client.delete(PODS, NAMESPACE, name, grace=0)
        await asyncio.sleep(random.uniform(*PAUSE))
    return waits[WARM_UP:]


async def measure(directory: Path, count: int, nodes: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {PODIUM.name: [], KUBE_SCHEDULER.name: []}
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await define_volcano(transport)
        await create_nodes(transport, nodes)
        async with watching(transport) as bound:
            for number in range(BLOCKS):
                for scheduler in (PODIUM, KUBE_SCHEDULER):
                    names = [f"{scheduler.name}-{number}-{n}" for n in range(count // BLOCKS + WARM_UP)]
                    with running(scheduler, server.kubeconfig, directory / f"{scheduler.name}-{number}"):
                        found[scheduler.name] += await block(Client(transport), bound, scheduler, names)
        await transport.close()
    return found


def report(found: dict[str, list[float]], nodes: int) -> Report:
    figures = []
    for part in (0.5, 0.99):
        ours, theirs = (percentile(found[each.name], part) * 1000 for each in (PODIUM, KUBE_SCHEDULER))
        label = f"p{part * 100:.0f}"
        figures += [
            Figure(f"podium, {label}", ours, "ms", theirs, at_least=False),
            Figure(f"kube-scheduler, {label}", theirs, "ms"),
        ]
    return Report("latency", f"a lone pod on an idle cluster of {nodes:,} nodes, created to bound", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=COUNT, help="for each scheduler")
    parser.add_argument("--nodes", type=int, default=NODES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        found = uvloop.run(measure(Path(directory), options.pods, options.nodes))
    result = report(found, options.nodes)
    publish(result)
    return 0 if result.good else 1


if __name__ == "__main__":
    sys.exit(main())
