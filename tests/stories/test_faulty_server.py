"""A real API server that fails in the middle of a gang's binds: the gang is completed, and no pod is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from podium.dialects import speaking
from podium.embedded.exchange import refusal
from podium.errors import ApiError
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.status import too_many_requests
from podium.kube.transport import Request, Response, Stream, Transport
from podium.runtime.metrics import Metrics
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import SchedulerPart
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import all_bound, check_room, field, standing
from tests.stories.proxy import Proxy, proxy_to

MEMBERS = 300 if os.environ.get("PODIUM_SOAK") else 100
FATAL = 36  # the bind with which it begins
LONGEST = 60.0  # seconds within which all are bound, whatever it was

Fault = Callable[["Faulty", Proxy], Awaitable[None]]


class Faulty:
    """Counts binds, and begins a fault with one of them; may answer some requests instead of the server."""

    def __init__(self, inside: Transport, begin: Callable[[Faulty], Awaitable[None]]) -> None:
        self.error: Callable[[], ApiError] | None = None
        self.after = False  # answers after the server has carried it out
        self.hits = 0
        self.begun: asyncio.Task[None] | None = None
        self._begin = begin
        self._inside = inside
        self._binds = 0

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if request.path.endswith("/binding"):
            self._binds += 1
            if self._binds == FATAL:
                self.begun = asyncio.create_task(self._run())
        if self.error is None:
            return await self._inside.request(request, timeout=timeout)
        self.hits += 1
        if self.after and self.hits % 2:
            await self._inside.request(request, timeout=timeout)
        return refusal(self.error())

    async def _run(self) -> None:
        await self._begin(self)

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        return self._inside.stream(request, timeout=timeout)

    async def close(self) -> None:
        await self._inside.close()


async def resets(faulty: Faulty, proxy: Proxy) -> None:
    proxy.reset(2.0)


async def breaks(faulty: Faulty, proxy: Proxy) -> None:
    await proxy.reset_every(1.0, 8)


async def slow(faulty: Faulty, proxy: Proxy) -> None:
    proxy.delay = 0.4


async def throttles(faulty: Faulty, proxy: Proxy) -> None:
    faulty.error = lambda: too_many_requests("slow down", 1)
    await asyncio.sleep(2.0)
    faulty.error = None


async def fails(faulty: Faulty, proxy: Proxy) -> None:
    faulty.error, faulty.after = lambda: ApiError(500, "InternalError", "etcdserver: request timed out"), True
    await asyncio.sleep(2.0)
    faulty.error = None


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    folder = tmp_path_factory.mktemp("plane")
    with ControlPlane(folder, flags=["--disable-admission-plugins=TaintNodesByCondition"]) as running:
        asyncio.run(_prepare(running))
        yield running


async def _prepare(plane: ControlPlane) -> None:
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(-(-MEMBERS // 8))


@contextlib.asynccontextmanager
async def scheduling(transport: Transport) -> AsyncIterator[Metrics]:
    """The scheduler as `podium scheduler` runs it, in this process."""
    metrics, stop = Metrics(), asyncio.Event()
    part = SchedulerPart(transport, speaking("default", ()), Configuration(), metrics)
    task = asyncio.create_task(part.run(stop))
    try:
        yield metrics
    finally:
        stop.set()
        await task


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", [resets, breaks, slow, throttles, fails])
async def test_a_gang_of_bare_pods_is_completed_and_keeps_its_pods(
    plane: ControlPlane, tmp_path: Path, fault: Fault
) -> None:
    async with field(plane.kubeconfig) as cluster, proxy_to(plane.port) as proxy:
        await cluster.gangs("g", 1, MEMBERS)
        before = {pod["metadata"]["uid"] for pod in await cluster.pods()}
        through = tmp_path / "kubeconfig"
        through.write_text(plane.kubeconfig.read_text().replace(f":{plane.port}", f":{proxy.port}"))
        transport = Faulty(HttpTransport(resolve(through)), lambda faulty: fault(faulty, proxy))
        async with scheduling(transport):
            pods = await cluster.until(all_bound, LONGEST)
        await transport.close()
        assert transport.begun is not None, "nothing went wrong"
        transport.begun.cancel()
        assert {pod["metadata"]["uid"] for pod in pods} == before, "pods were deleted"
        assert set(standing(pods).values()) == {f"{MEMBERS}/{MEMBERS}"}
        check_room(pods)
        await cluster.clear()
