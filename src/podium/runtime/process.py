"""A process of podium on somebody's cluster: its parts, each with its lease, and a window to look in.

    election -- leading --> a part: machine, driver, watches          (for each part)
    endpoints: health, readiness, metrics                             (for the process)

Parts stand by on their own and lead on their own, so `podium run` may share a cluster with a `podium scheduler` or
a `podium controllers` beside it.  What ends one part ends the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from podium.errors import UsageError
from podium.kube.lease import Terms
from podium.kube.transport import Transport
from podium.runtime.aside import Aside, Pulse
from podium.runtime.electing import Leadership, lead
from podium.runtime.endpoints import Answers, Endpoints
from podium.runtime.listener import Address
from podium.runtime.metrics import Metrics
from podium.runtime.metrics_access import ReviewedAccess

log = logging.getLogger(__name__)

SCHEDULER = "scheduler"  # the part that binds


class ElectionSettings(msgspec.Struct, frozen=True):
    """Where the leases are, and their terms."""

    namespace: str
    terms: Terms = Terms()
    enabled: bool = True


class Window(msgspec.Struct, frozen=True):
    """What can be asked of the process, and where."""

    address: Address
    chosen: bool = False  # somebody wants it there and nowhere else
    healthz: Address | None = None  # where health is answered besides
    with_health: bool = True
    with_metrics: bool = True


class Process:
    """Runs parts until it is stopped."""

    def __init__(
        self,
        transport: Transport,
        election: ElectionSettings,
        metrics: Metrics,
        connect: Callable[[], Transport] | None = None,
    ) -> None:
        """With `connect`, which makes another way to the same server, leases are renewed and probes are answered
        by a thread of their own."""
        self._aside = Aside() if connect is not None else None
        self._pulse = Pulse()
        self._own_way = connect() if connect is not None else None
        self._transport = self._own_way or transport
        self._election = election
        self._metrics = metrics
        self._leaderships: dict[str, Leadership] = {}
        self._parts: list[tuple[str, Callable[[asyncio.Event], Awaitable[None]]]] = []
        metrics.leading = self._leading

    def lease(self, part: str, name: str) -> Callable[[], bool] | None:
        """Has a part lead before it works; gives what to ask before every write."""
        if not self._election.enabled:
            return None
        pulse = self._pulse if self._aside is not None else None
        leadership = Leadership(self._transport, self._election.namespace, name, self._election.terms, pulse=pulse)
        self._leaderships[part] = leadership
        return leadership.may_write

    def add(self, part: str, work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
        self._parts.append((part, work))

    async def run(self, stop: asyncio.Event, window: Window | None = None) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(self._pulse)
            if self._aside is not None:
                await stack.enter_async_context(self._aside)
                if self._own_way is not None:
                    stack.push_async_callback(self._close_own_way)
            if window is not None:
                await self._open(window, stack)
            tasks = [asyncio.create_task(self._run_part(part, work, stop)) for part, work in self._parts]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                stop.set()
                await asyncio.wait(tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            for task in tasks:
                task.result()

    async def _run_part(
        self, part: str, work: Callable[[asyncio.Event], Awaitable[None]], stop: asyncio.Event
    ) -> None:
        await lead(self._leaderships.get(part), lambda: work(stop), stop, self._aside)

    async def _close_own_way(self) -> None:
        assert self._aside is not None
        assert self._own_way is not None
        await self._aside.run(self._own_way.close())

    async def _open(self, window: Window, stack: AsyncExitStack) -> None:
        unready = self.unready if window.with_health else None
        stuck = self._pulse.stuck if window.with_health else None
        access = None if window.address.is_local else ReviewedAccess(self._transport)
        metrics, page = (self._metrics.text, self._metrics.page) if window.with_metrics else (None, None)
        answers = Answers(unready, metrics, stuck, access, page)
        if window.with_health or window.with_metrics:
            try:
                opened = await stack.enter_async_context(self._endpoints(window.address, answers))
                log.info("health and metrics: %s", opened.url)
            except UsageError as error:
                if window.chosen:
                    raise
                log.warning("%s", error)  # nobody asked for it: the work is worth more
        if window.healthz is not None and window.with_health:
            opened = await stack.enter_async_context(
                self._endpoints(window.healthz, Answers(unready, stuck=stuck))
            )
            log.info("health: %s", opened.url)

    @asynccontextmanager
    async def _endpoints(self, address: Address, answers: Answers) -> AsyncIterator[Endpoints]:
        """Listens where no work can delay it.  Figures are the work's own, and are counted where that is done."""
        if self._aside is None:
            async with Endpoints(address, answers) as opened:
                yield opened
            return
        endpoints = Endpoints(address, answers, asyncio.get_running_loop())
        await self._aside.run(endpoints.__aenter__())
        try:
            yield endpoints
        finally:
            await self._aside.run(endpoints.__aexit__())

    def unready(self) -> str:
        """Why the process is not ready; "" when it is.  One that stands by is ready to take over."""
        for part, _ in self._parts:
            leadership = self._leaderships.get(part)
            if leadership is not None and not leadership.election.leading:
                if not leadership.election.holder:
                    return f"{part}: it is not known yet who leads"
                continue
            driver = self._metrics.drivers.get(part)
            if driver is None or not driver.synced:
                return f"{part}: the cluster is being listed"
            if part == SCHEDULER and self._metrics.forbidden:
                return f"{part}: no pod can be bound: {self._metrics.forbidden}"
        return ""

    def _leading(self) -> dict[str, bool]:
        return {part: leadership.may_write() for part, leadership in self._leaderships.items()}
