"""How fast pods get their nodes on a real API server: podium beside its peers, and beside what is possible.

    python -m bench.bind [--rounds N] [--pods N] [--nodes N] [--only NAME ...]

The contenders take turns, each on a fresh kube-apiserver and etcd with all nodes and all pods there before it
starts, and the median of their rounds counts.  Binds are counted by a watch at the API server, from the first to
the last.  podium and Volcano place gangs of 100, kube-scheduler single pods.  The bare bind loop decides nothing
and watches nothing: it is what podium's transport, the server and the disk can do.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median

import msgspec
import uvloop

from bench.bound import watching
from bench.population import READY_NODES, create_nodes, create_waiting
from bench.report import Figure, Report, publish
from bench.schedulers import BIND_LOOP, KUBE_SCHEDULER, PODIUM, VOLCANO, Scheduler, running
from bench.servers import real_server
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve

ROUNDS, NODES, PODS = 3, 5000, 5000
CONTENDERS = (BIND_LOOP, PODIUM, KUBE_SCHEDULER, VOLCANO)
PATIENCE = 180.0


class Run(msgspec.Struct, frozen=True):
    """What one contender did in one round."""

    seconds: float  # from the first bind to the last
    seconds_to_first: float  # from the start of the process
    cpu_seconds: float  # of its process, from its start to the last bind
    pods: int

    @property
    def rate(self) -> float:
        return (self.pods - 1) / self.seconds


async def run(scheduler: Scheduler, directory: Path, nodes: int, pods: int) -> Run:
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await create_nodes(transport, nodes)
        await create_waiting(transport, scheduler.pods_of, pods, scheduler.gang)
        await asyncio.to_thread(server.settle)
        async with watching(transport) as bound:
            with running(scheduler, server.kubeconfig, directory) as process:
                await bound.count(pods, PATIENCE)
                used = process.cpu_seconds()
        await transport.close()
    first, last = min(bound.moments.values()), max(bound.moments.values())
    return Run(last - first, first - process.started, used, pods)


def report(found: dict[str, list[Run]], nodes: int, pods: int) -> Report:
    rates = {name: median(each.rate for each in runs) for name, runs in found.items()}
    figures = []
    for other, target in ((BIND_LOOP, 0.85), (KUBE_SCHEDULER, 3.0), (VOLCANO, 5.0)):
        if PODIUM.name in rates and other.name in rates:
            ratio = rates[PODIUM.name] / rates[other.name]
            figures.append(Figure(f"podium / {other.name}", ratio, "x", target))
    for name, runs in found.items():
        figures += [
            Figure(name, rates[name], "binds/s"),
            Figure(f"{name}, start to last bind", median(e.seconds_to_first + e.seconds for e in runs), "s"),
            Figure(f"{name}, its CPU time of a bind", median(e.cpu_seconds / e.pods for e in runs) * 1e6, "us"),
        ]
    return Report("bind", f"{pods:,} pods onto {nodes:,} nodes of a real API server", figures)


async def measure(contenders: list[Scheduler], rounds: int, nodes: int, pods: int) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
                one = await run(contender, Path(directory), nodes, pods)
            found[contender.name].append(one)
            print(f"round {number + 1}: {contender.name} {one.rate:,.0f} binds/s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--pods", type=int, default=PODS, help="a multiple of 100: the gangs are that large")
    parser.add_argument("--only", action="append", choices=[each.name for each in CONTENDERS])
    options = parser.parse_args()
    contenders = [each for each in CONTENDERS if not options.only or each.name in options.only]
    found = uvloop.run(measure(contenders, options.rounds, options.nodes, options.pods))
    result = report(found, options.nodes, options.pods)
    publish(result)
    return 0 if result.good else 1


if __name__ == "__main__":
    sys.exit(main())
