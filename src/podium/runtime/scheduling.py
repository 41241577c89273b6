"""The scheduler's part of a process: one machine, driven against an API server until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

import msgspec

from podium.dialects.dialect import Dialect
from podium.engine.scheduler import PERIOD
from podium.engine.world import World
from podium.errors import PodiumError
from podium.kube.client import Client
from podium.kube.driver import Driver
from podium.kube.events import NORMAL, WARNING, Recorder, Regarding
from podium.kube.http_client import WIDTH
from podium.kube.resources import LEASES
from podium.kube.restarting import FIRST_PAUSE, LAST_PAUSE
from podium.kube.transport import Transport
from podium.runtime.driving import advice, create_objects, create_objects_when_possible, drive
from podium.runtime.measuring import MeasuredScheduler
from podium.runtime.metrics import Metrics
from podium.runtime.process import SCHEDULER
from podium.runtime.reloading import Configuration
from podium.runtime.transports import Fenced, Limited, Timed

log = logging.getLogger(__name__)

# Binds under way at once: as many as the transport has connections.
_CONCURRENCY = WIDTH
# How long a single turn waits for the volumes of what it has placed.
_VOLUME_SECONDS = 10.0
_VOLUME_LOOK_SECONDS = 0.1

# A failure after so long counts as the first one.
_WELL_SECONDS = 300.0

PART = SCHEDULER
LEASE = "podium-scheduler"  # unless another name is given


class Rate(msgspec.Struct, frozen=True):
    """How fast the scheduler may write; no limit when `qps` is 0."""

    qps: float = 0.0
    burst: int = 1


class SchedulerPart:
    """Everything that `podium scheduler` does while it leads."""

    def __init__(
        self,
        transport: Transport,
        dialects: tuple[Dialect, ...],
        configuration: Configuration,
        metrics: Metrics,
        *,
        period: float = PERIOD,
        rate: Rate | None = None,
        may_write: Callable[[], bool] | None = None,
        events_on: tuple[str, str] = ("kube-system", LEASE),
    ) -> None:
        """`may_write` is asked before every write.  `events_on` is the Lease that events about the
        scheduler itself are for, as namespace and name."""
        rate = rate or Rate()
        transport = Timed(transport, metrics.watch.binds)
        if rate.qps > 0:
            transport = Limited(transport, rate.qps, rate.burst)
        self._transport: Transport = transport if may_write is None else Fenced(transport, may_write)
        self._dialects = dialects
        self._configuration = configuration
        self._metrics = metrics
        self._period = period
        self._recorder = Recorder("podium-scheduler")
        self._events_on = Regarding(LEASES, *events_on, "")
        self.running: MeasuredScheduler | None = None  # while this process leads

    async def run(self, stop: asyncio.Event) -> None:
        """Lists everything afresh, and schedules until `stop` is set; after a bug once more, a little later."""
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            try:
                await self._run(stop)
                return
            except Exception as error:
                if not _is_bug(error):
                    raise
                pause = FIRST_PAUSE if time.monotonic() - began > _WELL_SECONDS else min(LAST_PAUSE, pause * 2)
                log.exception("the scheduler failed; it is started anew in %g s", pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
                return

    async def _run(self, stop: asyncio.Event) -> None:
        scheduler, driver = self._start()
        self.running = scheduler
        try:
            await drive(
                driver,
                stop.wait(),
                create_objects_when_possible(self._transport, self._dialects, driver),
                self._follow_configuration(scheduler, driver),
            )
        finally:
            self.running = None

    async def run_once(self) -> None:
        """One turn of every profile, and its writes."""
        await create_objects(self._transport, self._dialects)
        scheduler, driver = self._start(turns=1)
        await drive(driver, _until_done(scheduler, driver))

    def _start(self, turns: int | None = None) -> tuple[MeasuredScheduler, Driver]:
        world = World(self._dialects)
        scheduler = MeasuredScheduler(
            world, self._configuration.profiles, self._metrics.watch, turns=turns, period=self._period
        )
        driver = Driver(
            self._transport,
            scheduler,
            concurrency=_CONCURRENCY,
            custom_resources=True,
            views=world.views,
            advice=advice(self._dialects),
        )
        self._metrics.attach(scheduler, world)
        self._metrics.drivers[PART] = driver
        return scheduler, driver

    async def _follow_configuration(self, scheduler: MeasuredScheduler, driver: Driver) -> None:
        configuration = self._configuration
        async for refused in configuration.changes():
            if refused is None:
                scheduler.reconfigure(configuration.profiles)
                driver.wake()
                message = f"version {configuration.version} of {configuration.source} is in force"
                await self._tell(NORMAL, "ConfigurationReloaded", message)
            else:
                message = (
                    f"version {refused.version}: {refused.why}; version {configuration.version} stays in force"
                )
                await self._tell(WARNING, "ConfigurationRefused", message)

    async def _tell(self, type: str, reason: str, message: str) -> None:
        change = self._recorder.record(self._events_on, type, reason, message, time.time())
        if change is None:
            return
        try:
            await Client(self._transport).carry_out(change)
        except PodiumError as error:
            log.warning("an event could not be written: %s", error)


def _is_bug(error: BaseException) -> bool:
    """Whether something else than the outside has failed: what that does has errors of its own."""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_bug(each) for each in error.exceptions)
    return isinstance(error, Exception) and not isinstance(error, PodiumError)


async def _until_done(scheduler: MeasuredScheduler, driver: Driver) -> None:
    """Until nothing is left to do or to write.

    Volumes are somebody else's work: they are waited for a little, and whoever comes next goes on from what has
    been written.
    """
    await driver.idle()
    deadline = time.monotonic() + _VOLUME_SECONDS
    while scheduler.reporting or (scheduler.holding and time.monotonic() < deadline):
        await asyncio.sleep(_VOLUME_LOOK_SECONDS)
        await driver.idle()
