"""Scenarios of every kind on a real API server: objects, Volcano's configuration file, `podium scheduler --once`.

All of them run on facts (`tests/core`) and as objects (`tests/engine`).  Here a real server defaults, checks and
stores the objects, and what came out is read from it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from bench.population import READY_NODES, create_all, define_volcano

from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.kube.client import Client
from podium.kube.resources import EVENTS, NAMESPACES, PODS
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.core.scenario import configuration_of, read_scenarios
from tests.engine.scenario_objects import Put, objects_of, outcome_of
from tests.stories.field import field
from tests.stories.test_once import once

SCENARIOS = dict(read_scenarios(Path(__file__).parents[1] / "core" / "scenarios"))
NAMES = {table["about"]: name for name, table in SCENARIOS.items()}

# At least one of each file, and each way out of it: placed, evicted, promised, let in, refused.
SAMPLE = (
    "A queue of higher priority gets the only free node.",
    "A queue below its deserved share takes it back from one that is above its own.",
    "No level up: only the leaves are looked at.",
    "A minimum that no queue of this capability can hold is not let in.",
    "Hierarchical fairness: one half for one branch, and each child of the other half of its own resource.",
    "A dry run finds the neighbour that stands in the way, though another would be the usual victim.",
    "With ancestorReclaimLevel 1 the parent's share lets its leaf reclaim.",
    "What one queue is guaranteed the others leave alone.",
    "A task that may not preempt leaves that to the next of its gang.",
    "A guarantee comes before weights.",
    "A namespace's weight divides its share.",
    "A gang that waits for others to leave blocks nobody either; its room is kept.",
    "More important gangs, and more important tasks of a gang, go first.",
    "Minimums by role bind when the whole is not below their sum.",
)


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags=[READY_NODES]) as running:
        asyncio.run(prepare(running))
        yield running


async def prepare(plane: ControlPlane) -> None:
    namespaces = {put.namespace for about in SAMPLE for put in objects_of(SCENARIOS[NAMES[about]], 0.0)} - {""}
    async with field(plane.kubeconfig) as cluster:
        await define_volcano(cluster.transport)
        await cluster.client.delete_collection(QUEUES)  # a scenario has its own, and the scheduler makes the rest
        await create_all(cluster.transport, NAMESPACES, ({"metadata": {"name": name}} for name in namespaces))


@pytest.mark.parametrize("name", [NAMES[about] for about in SAMPLE])
async def test_scenario(name: str, plane: ControlPlane, tmp_path: Path) -> None:
    table = SCENARIOS[name]
    file = tmp_path / "volcano-scheduler.conf"
    file.write_text(yaml.safe_dump(configuration_of(table)))
    objects = list(objects_of(table, 0.0))  # the server puts its own times in place
    async with field(plane.kubeconfig) as cluster:
        client = cluster.client
        for put in objects:
            await create(client, put)
        done = await asyncio.to_thread(once, plane, "--config", str(file))
        assert done.returncode == 0, done.stderr
        left = {
            (resource, document["metadata"]["name"]): document
            for resource in (PODS, PODGROUPS)
            for document in await client.list(resource)
        }
        outcome = outcome_of(objects, left, await client.list(EVENTS))
        await clear(client, objects)
    outcome.check(table["then"])


async def create(client: Client, put: Put) -> None:
    """An object with its status, for which a server may want a write of its own."""
    await client.create(put.resource, put.namespace, put.document)
    if put.resource in (PODS, QUEUES):
        status = {"status": put.document["status"]}
        await client.patch(put.resource, put.namespace, put.name, status, subresource="status")
    if "deletionTimestamp" in put.document["metadata"]:
        await client.delete(put.resource, put.namespace, put.name)  # no kubelet ends it: it keeps leaving


async def clear(client: Client, objects: Sequence[Put]) -> None:
    """Leaves nothing behind that the next scenario could see."""
    for pod in await client.list(PODS):
        await client.delete(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"], grace=0)
    for put in objects:
        if put.resource not in (PODS, QUEUES):
            await client.delete(put.resource, put.namespace, put.name)
    await client.delete_collection(QUEUES)
    for namespace in {"default", *(put.namespace for put in objects if put.namespace)}:
        await client.delete_collection(EVENTS, namespace)
