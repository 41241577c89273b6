"""The scheduler is killed while it writes on pods that their gang has timed out: the next one finishes it.

The writes are slowed down, so that the kill falls between two of them; what the API shows is what the next
scheduler knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.population import READY_NODES, create_all, create_nodes, define_volcano, waiting_pod

from podium.cli.cluster import cluster_settings
from podium.dialects import DIALECTS
from podium.embedded.cluster import EmbeddedCluster
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, PODS
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import Field, field, scheduler

Document = dict[str, Any]

G = "gang.scheduling.koordinator.sh"
SLOWLY = ("--leader-elect=false", "--listen-address=:0", "--kube-api-qps=10", "--kube-api-burst=1")
QUICKLY = SLOWLY[:2]
HERE, THERE = "default", "other"
NODES, GPUS = 5, 8
MEMBERS = NODES * GPUS  # the gang, or both of them, take every GPU
PATIENCE = 90.0


@contextlib.asynccontextmanager
async def embedded(directory: Path) -> AsyncIterator[Path]:
    settings = cluster_settings(nodes=(), in_memory=True)
    async with EmbeddedCluster(msgspec.structs.replace(settings, machines=())) as cluster:
        yield cluster.kubeconfig


@contextlib.asynccontextmanager
async def real(directory: Path) -> AsyncIterator[Path]:
    with ControlPlane(directory / "plane", flags=[READY_NODES]) as plane:
        async with field(plane.kubeconfig) as found:
            await define_volcano(found.transport)
            kinds = [each for one in DIALECTS if one.name != "volcano" for each in one.documents()]
            await create_all(found.transport, CUSTOMRESOURCEDEFINITIONS, kinds)
        yield plane.kubeconfig


PLACES = {"embedded": embedded, "real": real}


def gang(namespace: str, name: str, size: int, mode: str, groups: str = "") -> list[Document]:
    """The last member of a gang that is not strict has no place."""
    found = []
    for number in range(size):
        document = waiting_pod(f"{name}-{number:02}", "koord-scheduler")
        document["metadata"]["namespace"] = namespace
        document["metadata"]["annotations"] |= {
            f"{G}/name": name,
            f"{G}/min-available": str(size),
            f"{G}/mode": mode,
            f"{G}/waiting-time": "3s",
            f"{G}/groups": groups,
        }
        found.append(document)
    if mode == "NonStrict":
        found[-1]["spec"]["nodeSelector"] = {"no": "such"}
    return found


async def pods(cluster: Field) -> list[Document]:
    return await cluster.client.list(PODS)


async def until(cluster: Field, wanted: Callable[[list[Document]], bool], what: str) -> list[Document]:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = await pods(cluster)
        if wanted(found):
            return found
        assert time.monotonic() < deadline, f"{what}: {len(marked(found))} marked, {len(bound(found))} bound"
        await asyncio.sleep(0.02)


def marked(found: list[Document]) -> list[Document]:
    return [each for each in found if each["metadata"].get("annotations", {}).get(f"{G}/timeout") == "true"]


def bound(found: list[Document]) -> list[Document]:
    return [each for each in found if each["spec"].get("nodeName")]


def said(document: Document) -> Document:
    conditions = document.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


GANGS = {
    "one gang": gang(HERE, "g", MEMBERS, "NonStrict"),
    "two namespaces": [
        *gang(HERE, "a", MEMBERS // 2, "Strict", f'["{HERE}/a", "{THERE}/b"]'),
        *gang(THERE, "b", MEMBERS // 2, "NonStrict", f'["{HERE}/a", "{THERE}/b"]'),
    ],
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("which", GANGS)
@pytest.mark.parametrize("where", PLACES)
async def test_a_kill_between_the_marks_of_a_gang_that_has_timed_out(
    which: str, where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if where == "real":
        ensure_real(request.config)
    log = tmp_path / "log"
    async with PLACES[where](tmp_path) as kubeconfig, field(kubeconfig) as cluster:
        await cluster.client.create(NAMESPACES, "", {"metadata": {"name": THERE}})
        await create_nodes(cluster.transport, NODES)
        for document in GANGS[which]:
            await cluster.client.create(PODS, document["metadata"]["namespace"], document)
        with scheduler(kubeconfig, log, *SLOWLY) as process:
            await until(cluster, lambda found: len(marked(found)) >= 3, "some are marked")
            process.kill()
            process.wait()
        left = await pods(cluster)
        assert 3 <= len(marked(left)) < MEMBERS
        with scheduler(kubeconfig, log, *QUICKLY):
            found = await until(cluster, lambda found: len(marked(found)) == MEMBERS, "all are marked")
            assert not bound(found)
            found = await until(
                cluster,
                lambda found: all(said(each).get("reason") == "GangTimedOut" for each in found),
                "all say so",
            )
            assert all(f"remove the annotation {G}/timeout" in said(each)["message"] for each in found)
            await no_room_is_held(cluster)
            assert len(marked(await pods(cluster))) == MEMBERS
            await try_again(cluster, which)
            await until(cluster, lambda found: len(bound(found)) == MEMBERS, "it starts")


async def no_room_is_held(cluster: Field) -> None:
    """Pods that need whole nodes get every one of them, and go."""
    for number in range(NODES):
        document = waiting_pod(f"whole-{number}", "koord-scheduler")
        resources = document["spec"]["containers"][0]["resources"]
        for amounts in resources.values():
            amounts["nvidia.com/gpu"] = str(GPUS)
        await cluster.client.create(PODS, HERE, document)
    await until(cluster, lambda found: len(bound(found)) == NODES, "the nodes are free")
    for number in range(NODES):
        await cluster.client.delete(PODS, HERE, f"whole-{number}", grace=0)
    await until(cluster, lambda found: len(found) == MEMBERS, "they are free again")


async def try_again(cluster: Field, which: str) -> None:
    """What the message asks for; and the member that had no place gets one."""
    last = GANGS[which][-1]
    namespace, name = last["metadata"]["namespace"], last["metadata"]["name"]
    await cluster.client.delete(PODS, namespace, name, grace=0)
    await until(cluster, lambda found: len(found) == MEMBERS - 1, "it is gone")
    for each in await pods(cluster):
        patch = {"metadata": {"annotations": {f"{G}/timeout": None}}}
        await cluster.client.patch(PODS, each["metadata"]["namespace"], each["metadata"]["name"], patch)
    spec = {key: value for key, value in last["spec"].items() if key != "nodeSelector"}
    await cluster.client.create(PODS, namespace, last | {"spec": spec})
