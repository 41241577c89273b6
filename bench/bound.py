"""When pods got their nodes, as a watch at the API server sees it: no scheduler is asked about itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from bench.population import NAMESPACE
from podium.kube.resources import PODS
from podium.kube.transport import Request, Transport
from podium.kube.wire import Object

# Names alone: encoding whole pods for the measurement would take the server's time from those it measures.
_NAMES_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_HOUR = "3600"
BINDS = "spec.nodeName!="


class _Event(msgspec.Struct):
    object: Object


class _Listed(msgspec.Struct):
    metadata: dict[str, Any]


class Bound:
    """The moments (monotonic) at which pods were seen bound, in the order in which they came."""

    def __init__(self) -> None:
        self.moments: dict[str, float] = {}
        self._moved = asyncio.Event()

    def note(self, name: str) -> None:
        self.moments.setdefault(name, time.monotonic())
        self._moved.set()

    async def count(self, wanted: int, timeout: float) -> None:
        """Until so many are bound."""
        await self._until(lambda: len(self.moments) >= wanted, f"{wanted:,} pods", timeout)

    async def pod(self, name: str, timeout: float) -> float:
        """Until this one is bound: when it was."""
        await self._until(lambda: name in self.moments, name, timeout)
        return self.moments[name]

    async def _until(self, holds: Callable[[], bool], what: str, timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout):
                while not holds():
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            reported = f"{what} not bound within {timeout:.0f} s; {len(self.moments):,} pods were"
            raise RuntimeError(reported) from None


@asynccontextmanager
async def watching(transport: Transport, selector: str = BINDS) -> AsyncIterator[Bound]:
    """Follows the binds of pods from now on; with another selector of fields, whatever makes pods match it."""
    listed = await transport.request(Request("GET", PODS.path(NAMESPACE), query=(("limit", "1"),)))
    version = msgspec.json.decode(listed.body, type=_Listed).metadata["resourceVersion"]
    bound, opened = Bound(), asyncio.Event()
    decoder = msgspec.json.Decoder(_Event)

    async def follow(version: str) -> None:
        # A server ends the watch of a client that does not keep up, as may happen on a machine that is busy.
        while True:
            query = (
                ("watch", "1"),
                ("fieldSelector", selector),
                ("resourceVersion", version),
                ("timeoutSeconds", _HOUR),
            )
            request = Request("GET", PODS.path(NAMESPACE), query, accept=_NAMES_ONLY)
            async with transport.stream(request) as stream:
                opened.set()
                async for line in stream.lines():
                    pod = decoder.decode(line).object
                    version = pod.metadata.resource_version
                    bound.note(pod.name)

    task = asyncio.create_task(follow(version))
    try:
        await opened.wait()
        yield bound
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
