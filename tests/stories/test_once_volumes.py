"""`podium scheduler --once` and pods with claims: one turn gives them their volumes, and waits for it a little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from bench.population import NAMESPACE, READY_NODES, create_all, waiting_pod

from podium.kube.resources import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from tests.compat.test_scheduled_volumes import local_volume, waiting_class
from tests.compat.test_volumes import claim
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import Field, field
from tests.stories.test_once import once


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("plane"), controllers=True, flags=[READY_NODES]) as running:
        yield running


async def make(cluster: Field, name: str, storage_class: str) -> None:
    await create_all(cluster.transport, PERSISTENTVOLUMECLAIMS, [_in(claim(name, "1Gi", storage_class))])
    pod = waiting_pod(name, "volcano")
    pod["spec"]["volumes"].append({"name": "claimed", "persistentVolumeClaim": {"claimName": name}})
    await create_all(cluster.transport, PODS, [pod])


def _in(document: dict[str, object]) -> dict[str, object]:
    metadata = document["metadata"]
    assert isinstance(metadata, dict)
    return {**document, "metadata": {**metadata, "namespace": NAMESPACE}}


@pytest.mark.timeout(300)
async def test_one_turn_binds_volumes_and_then_pods(plane: ControlPlane) -> None:
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(3)
        nodes = sorted(node["metadata"]["name"] for node in await cluster.client.list(NODES))
        await create_all(cluster.transport, STORAGECLASSES, [waiting_class("local")])
        await create_all(cluster.transport, PERSISTENTVOLUMES, [local_volume("disk", nodes[1], "local")])
        await make(cluster, "has-volume", "local")
        await make(cluster, "nobody-makes-it", "made")
        start = time.monotonic()
        done = await asyncio.to_thread(once, plane)
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - start < 40
        placed = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in await cluster.pods()}
        assert placed == {"has-volume": nodes[1], "nobody-makes-it": None}
