"""How soon a scheduler that starts anew decides again: 5,000 nodes, 50,000 bound pods, and one that waits.

    python -m bench.restart [--pods N] [--nodes N] [--times N]

Every node is full but one, so the pod that waits has one place to go.  A scheduler that decided before it knew all
pods would choose another, and the first bind would show it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

import msgspec
import uvloop

from bench.bound import watching
from bench.population import (
    NAMESPACE,
    READY_NODES,
    bound_pod,
    create_all,
    create_nodes,
    define_volcano,
    node_name,
    waiting_pod,
)
from bench.report import Figure, Report, publish
from bench.schedulers import PODIUM, running
from bench.servers import real_server
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS

NODES, BOUND_PODS, TIMES = 5000, 50_000, 3
TARGET = 10.0
PATIENCE = 120.0


class Start(msgspec.Struct, frozen=True):
    """One start of the scheduler."""

    seconds: float  # from the start of the process to the first bind
    cpu_seconds: float
    resident_bytes: int
    informed: bool  # whether the pod went to the only place there is


async def measure(directory: Path, nodes: int, pods: int, times: int) -> list[Start]:
    each = pods // nodes
    free = nodes // 2
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await define_volcano(transport)
        # Full nodes offer as many GPUs as pods are bound to them; the free one has a place for every start.
        await create_nodes(transport, nodes, lambda number: each + times * (number == free))
        await create_all(transport, PODS, (bound_pod(f"bound-{n:06}", node_name(n % nodes)) for n in range(pods)))
        starts = [await _start(transport, server.kubeconfig, directory, n, node_name(free)) for n in range(times)]
        await transport.close()
    return starts


async def _start(transport: HttpTransport, kubeconfig: Path, directory: Path, number: int, free: str) -> Start:
    name = f"waiting-{number}"
    client = Client(transport)
    await client.create(PODS, NAMESPACE, waiting_pod(name, PODIUM.pods_of))
    async with watching(transport) as bound:
        with running(PODIUM, kubeconfig, directory / f"start-{number}") as process:
            moment = await bound.pod(name, PATIENCE)
            used, resident = process.cpu_seconds(), process.resident_bytes()
    placed = await client.get(PODS, NAMESPACE, name)
    informed = placed["spec"]["nodeName"] == free and len(bound.moments) == 1
    return Start(moment - process.started, used, resident, informed)


def report(starts: list[Start], nodes: int, pods: int) -> Report:
    figures = [
        Figure("first decision after the start", median(s.seconds for s in starts), "s", TARGET, at_least=False),
        Figure("slowest of them", max(s.seconds for s in starts), "s"),
        Figure("starts that knew every pod first", sum(s.informed for s in starts), "", len(starts)),
        Figure("CPU time until then", median(s.cpu_seconds for s in starts), "s"),
        Figure("resident memory", max(s.resident_bytes for s in starts) / (1 << 30), "GiB"),
    ]
    return Report("restart", f"podium starts on {nodes:,} nodes with {pods:,} bound pods", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--pods", type=int, default=BOUND_PODS, help="a multiple of the nodes")
    parser.add_argument("--times", type=int, default=TIMES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        starts = uvloop.run(measure(Path(directory), options.nodes, options.pods, options.times))
    result = report(starts, options.nodes, options.pods)
    publish(result)
    return 0 if result.good else 1


if __name__ == "__main__":
    sys.exit(main())
