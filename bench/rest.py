"""What a cluster full of stuck pods costs, and whether they hold up others.  `python -m bench.rest`

10,000 pods in 200 gangs that fit nowhere wait on a real API server.  Once they have been told why, the scheduler
should have nothing to do: its writes and its CPU time are counted for a minute.  Then 500 pods that fit come
behind them, and should be bound about as fast as on a cluster without the others.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench.bound import watching
from bench.population import (
    GROUP,
    NAMESPACE,
    READY_NODES,
    Document,
    create_all,
    create_nodes,
    define_volcano,
    group,
    waiting_pod,
)
from bench.report import Figure, Report, publish
from bench.schedulers import PODIUM, running
from bench.servers import real_server
from podium.dialects.volcano.names import PODGROUPS
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS
from podium.kube.transport import Request, Transport

NODES = 100
STUCK_GANGS, MEMBERS = 200, 50
NEW = 500
REST_SECONDS = 60.0
PATIENCE = 600.0
WRITING = ("POST", "PUT", "PATCH", "DELETE")


async def measure(directory: Path) -> Report:
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await define_volcano(transport)
        await create_nodes(transport, NODES)
        with running(PODIUM, server.kubeconfig, directory / "scheduler") as scheduler:
            empty = await _bind(transport, "empty")
            await _create_stuck(transport)
            reported = await _quiet(transport)
            writes, used, begin = await _writes(transport), scheduler.cpu_seconds(), time.monotonic()
            await asyncio.sleep(REST_SECONDS)
            minutes = (time.monotonic() - begin) / 60
            writes = await _writes(transport) - writes
            used = scheduler.cpu_seconds() - used
            behind = await _bind(transport, "behind")
            resident = scheduler.resident_bytes()
        await transport.close()
    figures = [
        Figure("API writes at rest", writes / minutes, "a minute", 60, at_least=False),
        Figure("CPU at rest", used / minutes / 60 * 100, "% of a core", 5, at_least=False),
        Figure(f"{NEW} pods behind them / without them", behind / empty, "x", 2, at_least=False),
        Figure(f"{NEW} pods on an empty queue", empty, "s"),
        Figure(f"{NEW} pods behind the stuck ones", behind, "s"),
        Figure("until all had been told why", reported, "s"),
        Figure("the scheduler's memory", resident / (1 << 30), "GiB"),
    ]
    return Report("rest", f"{STUCK_GANGS * MEMBERS:,} pods in {STUCK_GANGS} gangs that fit nowhere", figures)


async def _bind(transport: Transport, prefix: str) -> float:
    """Seconds from the first create to the last bind of some pods; they are gone afterwards."""
    names = [f"{prefix}-{number}" for number in range(NEW)]
    async with watching(transport) as bound:
        begin = time.monotonic()
        await create_all(transport, PODS, (waiting_pod(name, PODIUM.pods_of) for name in names))
        last = max([await bound.pod(name, PATIENCE) for name in names])
    client = Client(transport)
    for name in names:
        await client.delete(PODS, NAMESPACE, name, grace=0)
    return last - begin


async def _create_stuck(transport: Transport) -> None:
    names = [f"stuck-{number}" for number in range(STUCK_GANGS)]
    await create_all(transport, PODGROUPS, (group(name, MEMBERS) for name in names))
    await create_all(transport, PODS, _stuck_pods(names))


def _stuck_pods(gangs: list[str]) -> Iterator[Document]:
    """No node has that many GPUs."""
    for gang in gangs:
        for number in range(MEMBERS):
            document = waiting_pod(f"{gang}-{number}", PODIUM.pods_of, gang)
            assert document["metadata"]["annotations"][GROUP] == gang
            resources = document["spec"]["containers"][0]["resources"]
            for part in ("requests", "limits"):
                resources[part]["nvidia.com/gpu"] = "16"
            yield document


async def _quiet(transport: Transport) -> float:
    """Seconds until hardly anything is written any more."""
    begin, seen = time.monotonic(), await _writes(transport)
    while time.monotonic() < begin + PATIENCE:
        await asyncio.sleep(10)
        now = await _writes(transport)
        if now - seen < 10:
            return time.monotonic() - begin
        seen = now
    raise RuntimeError(f"the scheduler still writes after {PATIENCE:g} s")


async def _writes(transport: Transport) -> int:
    """How many writes the server has answered so far, of everybody."""
    answer = await transport.request(Request("GET", "/metrics"))
    found = 0.0
    for line in answer.body.decode().splitlines():
        if line.startswith("apiserver_request_total{") and any(f'verb="{verb}"' in line for verb in WRITING):
            found += float(line.rpartition(" ")[2])
    return int(found)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        report = uvloop.run(measure(Path(directory)))
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
