"""What stands between a machine and the API server: the lease, a limit, and a stopwatch.

Each is a transport around another one.  Reads pass through untouched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from podium.engine.counters import Histogram
from podium.errors import TransportError
from podium.kube.transport import Request, Response, Stream, Transport


class _Around:
    """A transport that leaves everything to the one inside."""

    def __init__(self, inside: Transport) -> None:
        self._inside = inside

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        return await self._inside.request(request, timeout=timeout)

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        return self._inside.stream(request, timeout=timeout)

    async def close(self) -> None:
        await self._inside.close()


class Fenced(_Around):
    """Lets writes out only while nobody else can be leading."""

    def __init__(self, inside: Transport, may_write: Callable[[], bool]) -> None:
        super().__init__(inside)
        self._may_write = may_write

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if request.method != "GET" and not self._may_write():
            raise TransportError("the lease may have ended: nothing is written")
        return await self._inside.request(request, timeout=timeout)


class Limited(_Around):
    """At most so many writes a second, after a burst."""

    def __init__(self, inside: Transport, rate: float, burst: int) -> None:
        super().__init__(inside)
        self._interval = 1.0 / rate
        self._ahead = (max(1, burst) - 1) * self._interval  # how far writes may run before their time
        self._next = float("-inf")  # the time of the next write, were they spread evenly

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if request.method != "GET":
            now = time.monotonic()
            self._next = max(now - self._ahead, self._next + self._interval)
            if self._next > now:
                await asyncio.sleep(self._next - now)
        return await self._inside.request(request, timeout=timeout)


class Timed(_Around):
    """Notes how long the server takes to answer a bind."""

    def __init__(self, inside: Transport, binds: Histogram) -> None:
        super().__init__(inside)
        self._binds = binds

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if not request.path.endswith("/binding"):
            return await self._inside.request(request, timeout=timeout)
        begin = time.perf_counter()
        response = await self._inside.request(request, timeout=timeout)
        self._binds.observe((time.perf_counter() - begin) * 1000)
        return response
