"""The toy dialect on a real control plane: one module and one line, and all that podium does works there."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.population import READY_NODES, create_nodes

from podium.dialects import speaking
from podium.dialects.dialect import Dialect
from podium.dialects.workloads import Ask, template
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, PODS
from podium.runtime.controlling import ControllersPart
from podium.runtime.metrics import Metrics
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import SchedulerPart
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.dialects import toy

PATIENCE = 60.0


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags=[READY_NODES]) as running:
        yield running


@contextlib.asynccontextmanager
async def podium(transport: HttpTransport, dialects: tuple[Dialect, ...]) -> AsyncIterator[None]:
    """Scheduler and controllers, in this process."""
    stop = asyncio.Event()
    parts = (
        SchedulerPart(transport, dialects, Configuration(), Metrics()),
        ControllersPart(transport, dialects, Metrics()),
    )
    running = [asyncio.create_task(part.run(stop)) for part in parts]
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(asyncio.gather(*running), 20)


async def until(client: Client, wanted: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE):
        while True:
            pods = await client.list(PODS, "default")
            if wanted(pods):
                return pods
            await asyncio.sleep(0.1)


@pytest.mark.timeout(200)
async def test_teams_of_every_manner(plane: ControlPlane, tmp_path: Path) -> None:
    with toy.registered():
        dialects = speaking()
        transport = HttpTransport(resolve(plane.kubeconfig))
        client = Client(transport)
        try:
            await create_nodes(transport, 3)
            for dialect in dialects:
                for document in dialect.documents():
                    await client.create(CUSTOMRESOURCEDEFINITIONS, "", document)
            async with podium(transport, dialects):
                await _play(client)
        finally:
            await transport.close()


async def _play(client: Client) -> None:
    ask = template(Ask(cpu=1, seconds=None, scheduler=toy.SCHEDULER))

    async def served() -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(Exception):
                    await client.list(toy.TEAMS, "default")
                    return
                await asyncio.sleep(0.1)

    await served()
    for team in (
        toy.team("placed", ask, count=2, minimum=2, reserve=True),
        toy.team("grown", ask, count=1, minimum=1, most=3),
        toy.team("one", ask, count=1, minimum=1, partners=["other"]),
    ):
        await client.create(toy.TEAMS, "default", team)

    def bound(pods: list[dict[str, Any]]) -> Counter[str]:
        return Counter(pod["metadata"]["name"].rpartition("-")[0] for pod in pods if pod["spec"].get("nodeName"))

    pods = await until(client, lambda pods: bound(pods) == {"placed": 2, "grown": 3})
    places = (await client.get(toy.TEAMS, "default", "placed"))["status"]["places"]
    nodes = {
        pod["metadata"]["name"].rpartition("-")[2]: pod["spec"]["nodeName"]
        for pod in pods
        if pod["metadata"]["name"].startswith("placed-")
    }
    assert nodes == places, "pods are where their slots were"
    await client.create(toy.TEAMS, "default", toy.team("other", ask, count=1, minimum=1, partners=["one"]))
    await until(client, lambda pods: bound(pods) == {"placed": 2, "grown": 3, "one": 1, "other": 1})
