"""`podium controllers` is killed again and again while a hundred Jobs run: each ends as it should, once.

The controllers are a process of their own, which gets SIGKILL at random moments and is started anew.  What they
work on, API server, scheduler and nodes, stays.  A watch counts every pod that is ever made.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.cli.cluster import cluster_settings
from podium.dialects.volcano.job.names import JOB_NAME, JOB_VERSION, JOBS
from podium.dialects.volcano.names import COMMANDS, PODGROUPS
from podium.embedded.cluster import EmbeddedCluster
from podium.embedded.nodes.shapes import Shape
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS
from podium.kube.transport import Request
from tests.cli.running import PODIUM
from tests.controlplane.fixtures import ensure_real
from tests.dialects.job_kinds import Kind, kinds
from tests.stories.clusters import bare

Document = dict[str, Any]

SOAK = bool(os.environ.get("PODIUM_SOAK"))
KILLS = 20 if SOAK else 3
JOBS_AT_ONCE = 100
NODES = 8
SHORTEST, LONGEST = 0.8, 3.0  # how long the controllers live, with their start, in seconds
PATIENCE = 120.0
LONG = 100_000
NAMESPACE = "default"


# --- places ------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def embedded(directory: Path) -> AsyncIterator[Path]:
    """An embedded cluster without the families' controllers."""
    settings = cluster_settings(nodes=(Shape(count=NODES, cpu="64"),), data_dir=directory / "data")
    async with EmbeddedCluster(msgspec.structs.replace(settings, controllers=())) as cluster:
        yield cluster.kubeconfig


@contextlib.contextmanager
def real(directory: Path) -> Iterator[Path]:
    """A real control plane with simulated nodes, and `podium scheduler`."""
    with bare(directory, NODES) as server, started("scheduler", server.kubeconfig, directory):
        yield server.kubeconfig


@contextlib.contextmanager
def started(command: str, kubeconfig: Path, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command of podium in a process of its own, which is killed at the end."""
    with open(directory / f"{command}.log", "ab") as output:
        process = subprocess.Popen(
            [*PODIUM, command, f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--listen-address=:0"],
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


# --- what happens in them ----------------------------------------------------------------------------------


class Crowd:
    """A hundred Jobs of all kinds, and whoever meddles with them."""

    def __init__(self, client: Client, unit: int) -> None:
        self._client = client
        self.kinds: dict[str, tuple[str, Kind]] = {}  # by the Job's name
        while len(self.kinds) < JOBS_AT_ONCE:
            prefix = f"{len(self.kinds):02}-"
            for about, kind in list(kinds(unit, prefix, evicted_after=100_000).items())[
                : JOBS_AT_ONCE - len(self.kinds)
            ]:
                self.kinds[kind.document["metadata"]["name"]] = (about, kind)
        self.made: Counter[str] = Counter()  # pods ever seen, by Job
        self._uids: set[str] = set()

    async def live(self) -> None:
        """Jobs are submitted, a pod is taken away from some of them, and some are suspended."""
        for _, kind in self.kinds.values():
            await self._client.create(JOBS, NAMESPACE, kind.document)
        await self._meddle()

    async def count_pods(self, opened: asyncio.Event) -> None:
        """Follows all pods and counts those that are made."""
        seen = await self._newest()
        while True:  # a server may close a watch whenever it likes
            query = (("watch", "1"), ("timeoutSeconds", "3600"), ("resourceVersion", seen))
            async with self._client.transport.stream(Request("GET", PODS.path(NAMESPACE), query)) as stream:
                opened.set()
                async for line in stream.lines():
                    event = msgspec.json.decode(line)
                    assert event["type"] != "ERROR", event["object"]
                    metadata = event["object"]["metadata"]
                    seen = metadata["resourceVersion"]
                    if metadata["uid"] not in self._uids:
                        self._uids.add(metadata["uid"])
                        self.made[metadata["labels"][JOB_NAME]] += 1

    async def _newest(self) -> str:
        answer = await self._client.transport.request(Request("GET", PODS.path(NAMESPACE)))
        version: str = msgspec.json.decode(answer.body)["metadata"]["resourceVersion"]
        return version

    async def _meddle(self) -> None:
        to_lose = [name for name, (about, _) in self.kinds.items() if about == "evicted"]
        to_stop = [name for name, (about, _) in self.kinds.items() if about == "aborted"]
        async for name in self._running([*to_lose, *to_stop], version=0):
            if name in to_lose:
                await self._client.delete(PODS, NAMESPACE, f"{name}-w-1")
            else:
                await self._order(name, "AbortJob")
        done = {"metadata": {"annotations": {"podium.dev/run-seconds": "1"}}}
        async for name in self._running(to_lose, version=1):
            for pod in self._three(name):
                await self._client.patch(PODS, NAMESPACE, pod, done)

    async def _running(self, names: list[str], version: int) -> AsyncIterator[str]:
        """Each of these Jobs as soon as its three pods run and the controllers have written that down."""
        waiting = set(names)
        while waiting:
            pods = {pod["metadata"]["name"]: pod for pod in await self._client.list(PODS, NAMESPACE)}
            running = {
                name
                for name, pod in pods.items()
                if pod["status"].get("phase") == "Running"
                and pod["metadata"]["annotations"].get(JOB_VERSION) == str(version)
            }
            for name in sorted(waiting):
                if running.issuperset(self._three(name)) and await self._counted(name) == 3:
                    waiting.remove(name)
                    yield name
            await asyncio.sleep(0.2)

    def _three(self, name: str) -> list[str]:
        return [f"{name}-w-{index}" for index in range(3)]

    async def _counted(self, name: str) -> int:
        """The pods of a Job that its controller has written down: before that, nobody knows that one is gone."""
        status = (await self._client.get(JOBS, NAMESPACE, name)).get("status", {})
        return sum(sum(each["phase"].values()) for each in status.get("taskStatusCount", {}).values())

    async def _order(self, name: str, action: str) -> None:
        target = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": name, "uid": ""}
        document = {
            "apiVersion": COMMANDS.api_version,
            "kind": "Command",
            "metadata": {"generateName": f"{name}-"},
        }
        await self._client.create(COMMANDS, NAMESPACE, {**document, "action": action, "target": target})

    async def ended(self) -> dict[str, Document]:
        """The status of each Job, once all have come to their phases and nothing runs any more."""
        deadline = time.monotonic() + PATIENCE
        while True:
            jobs = {job["metadata"]["name"]: job for job in await self._client.list(JOBS, NAMESPACE)}
            found = {name: jobs[name].get("status", {}) for name in self.kinds}
            pods = await self._client.list(PODS, NAMESPACE)
            phases = {name: status.get("state", {}).get("phase", "") for name, status in found.items()}
            late = {name: phase for name, phase in phases.items() if phase != self.kinds[name][1].phase}
            running = [p["metadata"]["name"] for p in pods if p["status"]["phase"] not in ("Succeeded", "Failed")]
            if not late and not running:
                return found
            assert time.monotonic() < deadline, (
                f"not at their end: {late}; still there: {running}; {self._told_of(late, jobs, pods)}"
            )
            await asyncio.sleep(0.5)

    def _told_of(self, names: Collection[str], jobs: Mapping[str, Document], pods: list[Document]) -> str:
        """All that the server knows of Jobs that are late, for whoever has to find out why."""
        of_late = [pod for pod in pods if pod["metadata"]["labels"][JOB_NAME] in names]
        for each in of_late:
            each.pop("spec")
            each["metadata"].pop("managedFields", None)
        return msgspec.json.encode([{name: jobs[name].get("status") for name in names}, of_late]).decode()


@pytest.mark.timeout(900)
async def test_every_job_ends_as_it_should(tmp_path: Path) -> None:
    async with embedded(tmp_path) as kubeconfig:
        await play(kubeconfig, tmp_path)


@pytest.mark.timeout(900)
async def test_on_a_real_server_as_well(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    ensure_real(request.config)
    with real(tmp_path) as kubeconfig:
        await play(kubeconfig, tmp_path)


async def play(kubeconfig: Path, directory: Path) -> None:
    transport = HttpTransport(resolve(kubeconfig))
    client = Client(transport)
    crowd = Crowd(client, unit=5 if SOAK else 1)
    opened = asyncio.Event()
    counting = asyncio.create_task(crowd.count_pods(opened))
    await opened.wait()
    dice = random.Random(11)
    using = asyncio.create_task(crowd.live())
    for _ in range(KILLS):
        with started("controllers", kubeconfig, directory):
            await asyncio.sleep(dice.uniform(SHORTEST, LONGEST))
    with started("controllers", kubeconfig, directory):
        await using
        found = await crowd.ended()
    assert not counting.done(), counting.exception()
    counting.cancel()

    wrong = {}
    for name, status in found.items():
        kind = crowd.kinds[name][1]
        seen = (status.get("retryCount", 0), crowd.made[name])
        if seen != (kind.retries, kind.pods):
            wrong[name] = seen
    assert not wrong, f"tries, and pods that were made: {wrong}"
    uids = {job["metadata"]["uid"] for job in await client.list(JOBS, NAMESPACE)}
    for pod in await client.list(PODS, NAMESPACE):
        assert {owner["uid"] for owner in pod["metadata"]["ownerReferences"]} <= uids
    assert await client.list(PODGROUPS, NAMESPACE) == []
    assert await client.list(COMMANDS, NAMESPACE) == []
    await transport.close()
