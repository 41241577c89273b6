"""An embedded API on the wall clock without any machine on it: what the parts of a process are tested against."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from podium.dialects import DIALECTS
from podium.embedded.in_process import LocalTransport
from podium.embedded.log import MemoryLog
from podium.embedded.nodes.shapes import Shape, node_document
from podium.errors import TransportError
from podium.kube.client import Client
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, NODES, PODS, Resource
from podium.kube.transport import Request, Response, Stream, Transport
from tests.embedded.server import Server

PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)


class Cluster:
    def __init__(self) -> None:
        server = Server()
        server.api.clock = server.api.objects.clock = time.time
        self.transport = LocalTransport(server.api.handle, MemoryLog())
        self.client = Client(self.transport)

    async def define(self) -> None:
        for dialect in DIALECTS:
            for document in dialect.documents():
                await self.client.create(CUSTOMRESOURCEDEFINITIONS, "", document)

    async def node(self, name: str, cpu: str = "8") -> None:
        await self.client.create(NODES, "", node_document(Shape(cpu=cpu), name, 0, time.time()))

    async def pod(self, name: str, cpu: str = "1", scheduler: str = "volcano", **annotations: str) -> None:
        container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
        spec = {"schedulerName": scheduler, "containers": [container]}
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        await self.client.create(PODS, "default", {"metadata": metadata, "spec": spec})

    async def group(self, name: str, minimum: int, **spec: Any) -> None:
        document = {
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": {"name": name},
            "spec": {"minMember": minimum, **spec},
        }
        await self.client.create(PODGROUPS, "default", document)

    async def placed(self) -> dict[str, str]:
        pods = await self.client.list(PODS, "default")
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]}

    async def message(self, name: str) -> str:
        """What a pod is told about why it waits."""
        pod = await self.client.get(PODS, "default", name)
        for condition in pod.get("status", {}).get("conditions") or ():
            if condition["type"] == "PodScheduled":
                return str(condition.get("message", ""))
        return ""


async def until(test: Callable[[], Awaitable[object]], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not await test():  # noqa: ASYNC110 - what is waited for happens on the server
            await asyncio.sleep(0.02)


class Cut:
    """A transport that can be cut: nothing gets through, and nobody says so."""

    def __init__(self, inside: Transport) -> None:
        self._inside = inside
        self.cut = False
        self.writes: list[Request] = []

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if self.cut:
            await asyncio.sleep(timeout)
            raise TransportError("no answer")
        if request.method != "GET":
            self.writes.append(request)
        return await self._inside.request(request, timeout=timeout)

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        return self._inside.stream(request, timeout=timeout)

    async def close(self) -> None:
        """The one inside belongs to somebody else."""
