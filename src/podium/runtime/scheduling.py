"""The scheduler's process: one machine, driven against an API server until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from podium.core.profile import Profile
from podium.dialects.dialect import Dialect
from podium.embedded.driver import Driver
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.transport import Transport

# Binds under way at once.  More does not make an API server faster, fewer leaves it idle.
_CONCURRENCY = 32


async def schedule(
    transport: Transport,
    dialects: Sequence[Dialect],
    profiles: Mapping[str, Profile],
    stop: asyncio.Event,
    *,
    once: bool = False,
) -> None:
    """Schedules until `stop` is set; with `once`, for one turn of every profile and until its writes are done."""
    world = World(dialects)
    scheduler = Scheduler(world, profiles, turns=1 if once else None)
    driver = Driver(transport, scheduler, concurrency=_CONCURRENCY, views=world.views)
    running = asyncio.create_task(driver.run())
    ends = asyncio.create_task(_wait(driver, stop, once))
    try:
        await asyncio.wait({running, ends}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()  # it never ends by itself: this raises what ended it
    finally:
        for task in (running, ends):
            task.cancel()
        await asyncio.wait({running, ends})


async def _wait(driver: Driver, stop: asyncio.Event, once: bool) -> None:
    """Until the work is done: with `once` that is when everything has been listed, decided and written."""
    if once:
        await driver.idle()
    else:
        await stop.wait()
