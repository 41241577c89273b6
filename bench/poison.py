"""Whether bad pods slow down good ones.  `python -m bench.poison [--rounds N] [--pods N] [--nodes N]`

Good pods wait on a real API server, alone or behind every bad pod and group that the server takes in.  The rates
at which the good ones are bound are compared, and every bad pod must have been told why it waits.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec
import uvloop
from tests.engine.poison import BAD_PODS, GROUPS

from bench.bound import watching
from bench.population import (
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
from podium.errors import ApiError
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS, Resource

ROUNDS, NODES, GOOD = 3, 1000, 1000
COPIES = 10  # of every bad pod
MADE_GOOD = {"cpu-beyond-everything"}  # kube-apiserver takes 10^30 CPUs for one
PATIENCE = 120.0


class Run(msgspec.Struct, frozen=True):
    """One burst of good pods."""

    rate: float
    bad: int = 0  # that the server took in
    told: int = 0  # of them


async def run(directory: Path, nodes: int, good: int, *, poisoned: bool) -> Run:
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        client = Client(transport)
        await define_volcano(transport)
        await create_nodes(transport, nodes)
        bad = await _poison(client) if poisoned else []
        names = [f"good-{number:05}" for number in range(good)]
        await create_all(transport, PODS, (waiting_pod(name, PODIUM.pods_of) for name in names))
        await asyncio.to_thread(server.settle)
        async with watching(transport) as bound:
            with running(PODIUM, server.kubeconfig, directory):
                moments = [await bound.pod(name, PATIENCE) for name in names]
                reported = await _told(client, bad)
        await transport.close()
    return Run((good - 1) / (max(moments) - min(moments)), len(bad), reported)


async def _poison(client: Client) -> list[str]:
    """Creates whatever bad there is: the names of the pods that the server has no objection to."""
    for name, spec in GROUPS.items():
        await _created(client, PODGROUPS, {**group(name, 1), "spec": {"queue": "default", **spec}})
    taken = []
    for kind, (document, _) in BAD_PODS.items():
        if kind in MADE_GOOD:
            continue
        for number in range(COPIES):
            name = f"{kind}-{number}"
            spec = {**document["spec"], "schedulerName": PODIUM.pods_of}
            spec["containers"] = [{"image": "app", **container} for container in spec["containers"]]
            metadata = {**document["metadata"], "name": name}
            whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            if not await _created(client, PODS, whole):
                break
            taken.append(name)
    return taken


async def _created(client: Client, resource: Resource, document: Document) -> bool:
    try:
        await client.create(resource, NAMESPACE, document)
    except ApiError:
        return False
    return True


async def _told(client: Client, names: list[str]) -> int:
    """How many of these pods say why they wait, once all of them do or time is up."""
    end = time.monotonic() + PATIENCE
    while True:
        pods = {pod["metadata"]["name"]: pod for pod in await client.list(PODS, NAMESPACE)}
        reported = sum(any(map(_says_why, pods[name]["status"].get("conditions") or ())) for name in names)
        if reported == len(names) or time.monotonic() > end:
            return reported
        await asyncio.sleep(1.0)


def _says_why(condition: Document) -> bool:
    return (
        condition["type"] == "PodScheduled" and condition["status"] == "False" and bool(condition.get("message"))
    )


async def measure(rounds: int, nodes: int, good: int) -> Report:
    alone: list[Run] = []
    beside: list[Run] = []
    for _ in range(rounds):
        for found, poisoned in ((alone, False), (beside, True)):
            with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
                found.append(await run(Path(directory), nodes, good, poisoned=poisoned))
    figures = [
        Figure(
            "good pods beside bad ones / alone",
            median(each.rate for each in beside) / median(each.rate for each in alone),
            "x",
            0.9,
        ),
        Figure("good pods alone", median(each.rate for each in alone), "binds/s"),
        Figure("good pods beside bad ones", median(each.rate for each in beside), "binds/s"),
        Figure("bad pods that were told why", min(each.told for each in beside), "", beside[0].bad),
    ]
    return Report("poison", f"{good:,} good pods and {beside[0].bad:,} bad ones on {nodes:,} nodes", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--pods", type=int, default=GOOD)
    options = parser.parse_args()
    report = uvloop.run(measure(options.rounds, options.nodes, options.pods))
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
