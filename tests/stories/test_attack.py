"""Pods whose terms are dear to look at, beside two schedulers on a real cluster: the lease stays, nobody waits."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.adversaries import selectors, spreads
from bench.bound import watching
from bench.population import READY_NODES, create_all, waiting_pod
from bench.servers import cpu_seconds

from podium.kube.resources import LEASES, PODS
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import Field, field, scheduler
from tests.stories.test_two_schedulers import TERMS, until_told

Document = dict[str, Any]

SOAK = bool(os.environ.get("PODIUM_SOAK"))
# Each of the pods with an anti-affinity of its own keeps a node for itself: others need some that are left.
NODES = 1200 if SOAK else 300
GOOD = 2000 if SOAK else 400
TERMS_OF_EACH_KIND = 500 if SOAK else 150
PATIENCE = 240.0
OTHERS = 4000 if SOAK else 400
# Two processes and a real control plane share a few cores with whatever else runs: a ratio of two short runs.
SLOWEST = 0.9 if SOAK else 0.5


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags=[READY_NODES]) as running:
        yield running


def attack() -> Iterator[Document]:
    for _, document in (*selectors(TERMS_OF_EACH_KIND), *spreads(TERMS_OF_EACH_KIND)):
        yield {**document, "spec": {**document["spec"], "schedulerName": "volcano"}}


async def rate(cluster: Field, prefix: str) -> float:
    """How many good pods get their nodes in a second."""
    names = [f"{prefix}-{number:05}" for number in range(GOOD)]
    async with watching(cluster.transport) as bound:
        await create_all(cluster.transport, PODS, (waiting_pod(name, "volcano") for name in names))
        moments = [await bound.pod(name, PATIENCE) for name in names]
    return (GOOD - 1) / (max(moments) - min(moments))


def cpu(*schedulers: subprocess.Popen[bytes]) -> float:
    return sum(cpu_seconds(each.pid) for each in schedulers)


async def holder(cluster: Field) -> tuple[str, int]:
    lease = await cluster.client.get(LEASES, "kube-system", "podium-scheduler")
    return lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]


@pytest.mark.timeout(900 if SOAK else 400)
async def test_the_lease_stays_and_good_pods_get_their_nodes(plane: ControlPlane, tmp_path: Path) -> None:
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(NODES)
        with scheduler(plane.kubeconfig, one, *TERMS) as first:
            await until_told(one, "leading: this process")
            with scheduler(plane.kubeconfig, two, *TERMS) as second:
                await until_told(two, "standing by: ")
                used = cpu(first, second)
                alone = await rate(cluster, "alone")
                print(f"\nalone: {alone:.0f} good pods a second, {cpu(first, second) - used:.1f} s of CPU")
                await cluster.clear()
                leader, before = await holder(cluster), one.read_text() + two.read_text()
                others = (waiting_pod(f"other-{number}", "default-scheduler") for number in range(OTHERS))
                await create_all(cluster.transport, PODS, others)
                await create_all(cluster.transport, PODS, attack())
                used = cpu(first, second)
                beside = await rate(cluster, "beside")
                print(f"beside the attack: {beside:.0f}, {cpu(first, second) - used:.1f} s of CPU")
                await asyncio.sleep(5.0)  # longer than a lease lasts: whoever is busy now would lose it
                assert await holder(cluster) == leader
        reported = one.read_text() + two.read_text()
    assert reported.count("is lost") == before.count("is lost")
    assert beside >= SLOWEST * alone, f"{beside:.0f} good pods a second beside the attack, {alone:.0f} alone"
