"""A real control plane with nodes and gangs as objects, and `podium scheduler` as a process that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from bench.population import GROUP, NAMESPACE, create_all, create_nodes, define_volcano, group, waiting_pod

from podium.dialects.volcano.names import PODGROUPS
from podium.errors import PodiumError
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS
from podium.kube.transport import Request

Document = dict[str, Any]

PATIENCE = 90.0  # generous: a shared machine may be slow, and nobody waits for it when all is well


class Field:
    """What a story does to a cluster, and sees of it."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.transport = HttpTransport(resolve(kubeconfig))
        self.client = Client(self.transport)

    async def prepare(self, nodes: int) -> None:
        await define_volcano(self.transport)
        await create_nodes(self.transport, nodes)

    async def gangs(self, prefix: str, count: int, members: int) -> None:
        """Each pod asks for one GPU."""
        names = [f"{prefix}-{number:03}" for number in range(count)]
        await create_all(self.transport, PODGROUPS, (group(name, members) for name in names))
        pods = (waiting_pod(f"{name}-{n}", "volcano", name) for name in names for n in range(members))
        await create_all(self.transport, PODS, pods)

    async def pods(self) -> list[Document]:
        return await self.client.list(PODS, NAMESPACE)

    async def until(self, wanted: Callable[[list[Document]], bool], within: float = PATIENCE) -> list[Document]:
        """The pods, as soon as they are as wanted.  A server that is away is asked again."""
        deadline = time.monotonic() + within
        while True:
            with contextlib.suppress(PodiumError):
                pods = await self.pods()
                if wanted(pods):
                    return pods
            assert time.monotonic() < deadline, f"not so within {within:g} s: {standing(pods)}"
            await asyncio.sleep(0.05)

    async def clear(self) -> None:
        at_once = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        # The answer holds every pod that goes.
        await self.transport.request(Request("DELETE", PODS.path(NAMESPACE), body=at_once), timeout=PATIENCE)
        await self.client.delete_collection(PODGROUPS, NAMESPACE)
        await self.until(lambda pods: not pods)


@contextlib.asynccontextmanager
async def field(kubeconfig: Path) -> AsyncIterator[Field]:
    found = Field(kubeconfig)
    try:
        yield found
    finally:
        await found.transport.close()


@contextlib.contextmanager
def scheduler(kubeconfig: Path, log: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """The scheduler in a process of its own; it is ended if the story has not done it."""
    command = [sys.executable, "-m", "podium.cli.main", "scheduler", "--kubeconfig", str(kubeconfig), *flags]
    with open(log, "ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def some_bound(enough: int, pods: list[Document]) -> bool:
    return sum("nodeName" in pod["spec"] for pod in pods) >= enough


def all_bound(pods: list[Document]) -> bool:
    return bool(pods) and all("nodeName" in pod["spec"] for pod in pods)


def standing(pods: Iterable[Document]) -> dict[str, str]:
    """Bound and all members of each gang."""
    members: Counter[str] = Counter()
    placed: Counter[str] = Counter()
    for pod in pods:
        name = pod["metadata"].get("annotations", {}).get(GROUP, "")
        members[name] += 1
        placed[name] += "nodeName" in pod["spec"]
    return {name: f"{placed[name]}/{count}" for name, count in sorted(members.items())}


def check_room(pods: Iterable[Document], gpus: int = 8) -> None:
    """No node has more pods than GPUs: each pod asks for one."""
    crowded = {
        node: count
        for node, count in Counter(pod["spec"].get("nodeName", "") for pod in pods).items()
        if node and count > gpus
    }
    assert not crowded, crowded
