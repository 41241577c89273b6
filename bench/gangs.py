"""Gangs by annotations on a real API server: how fast they are bound, and how long one is bound in part.

    python -m bench.gangs [--nodes N] [--small N] [--large N] [--alone]

The shapes of Kubernetes' own benchmarks of gangs: many of three pods, and some of a thousand, in turn.  podium
runs with its controllers, which make a PodGroup for each gang and write its status.  Binds are single calls of the
API, so a gang is bound in part for a while: a watch at the API server sees the first and the last that it needs.
The same number of pods in groups of 100, as in `bench.bind`, is what the rate is compared with.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.bind import run as run_bind
from bench.bound import watching
from bench.population import READY_NODES, create_all, create_nodes, define_volcano, waiting_pod
from bench.report import Figure, Report, publish
from bench.schedulers import PODIUM, Scheduler, podium, running
from bench.servers import real_server
from podium.dialects import DIALECTS
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, PODS

NODES, SMALL, LARGE = 5000, 1000, 9
PATIENCE = 240.0
KEYS = "gang.scheduling.koordinator.sh"
NAMED = Scheduler("podium, gangs by annotations", "koord-scheduler", 0, podium("run"))

Document = dict[str, Any]


class Run(msgspec.Struct, frozen=True):
    """What was seen."""

    pods: int
    seconds: float  # from the first bind to the last
    longest: float  # from the first bind of a gang to the last that it needs
    partial: int  # gangs with some of their pods bound, and fewer than they need, at the end

    @property
    def rate(self) -> float:
        return (self.pods - 1) / self.seconds


def sizes(small: int, large: int) -> dict[str, int]:
    return {f"s{n:04}": 3 for n in range(small)} | {f"l{n}": 1000 for n in range(large)}


def pods(gangs: dict[str, int]) -> Iterator[Document]:
    for name, size in gangs.items():
        for number in range(size):
            document = waiting_pod(f"{name}-{number}", NAMED.pods_of)
            marks = {f"{KEYS}/name": name, f"{KEYS}/min-available": str(size)}
            document["metadata"].setdefault("annotations", {}).update(marks)
            yield document


async def run(directory: Path, nodes: int, gangs: dict[str, int]) -> Run:
    count = sum(gangs.values())
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await create_nodes(transport, nodes)
        await define_volcano(transport)
        kinds = [document for each in DIALECTS if each.name not in ("volcano",) for document in each.documents()]
        await create_all(transport, CUSTOMRESOURCEDEFINITIONS, kinds)
        await create_all(transport, PODS, pods(gangs))
        await asyncio.to_thread(server.settle)
        async with watching(transport) as bound:
            with running(NAMED, server.kubeconfig, directory):
                await bound.count(count, PATIENCE)
        await transport.close()
    by_gang: dict[str, list[float]] = {name: [] for name in gangs}
    for name, at in bound.moments.items():
        by_gang[name.rpartition("-")[0]].append(at)
    longest = max(max(each) - min(each) for each in by_gang.values() if each)
    partial = sum(0 < len(each) < gangs[name] for name, each in by_gang.items())
    moments = bound.moments.values()
    return Run(count, max(moments) - min(moments), longest, partial)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--small", type=int, default=SMALL, help="gangs of three")
    parser.add_argument("--large", type=int, default=LARGE, help="gangs of a thousand")
    parser.add_argument("--alone", action="store_true", help="without the comparison")
    options = parser.parse_args()
    gangs = sizes(options.small, options.large)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        found = uvloop.run(run(Path(directory), options.nodes, gangs))
    figures = [
        Figure("gangs by annotations", found.rate, "binds/s"),
        Figure("longest time bound in part", found.longest, "s", 5.0, at_least=False),
        Figure("gangs bound in part at the end", found.partial, "gangs", 0, at_least=False),
    ]
    if not options.alone:
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
            other = uvloop.run(run_bind(PODIUM, Path(directory), options.nodes, found.pods // 100 * 100))
        figures.append(Figure("gangs by annotations / groups of 100", found.rate / other.rate, "x", 0.8))
    result = Report("gangs", f"{found.pods:,} pods onto {options.nodes:,} nodes of a real API server", figures)
    publish(result)
    return 0 if result.good else 1


if __name__ == "__main__":
    sys.exit(main())
