"""A machine driven against an API server, from the first list to an orderly end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence

from podium.dialects.dialect import Dialect, objects_of
from podium.errors import ApiError, PodiumError
from podium.kube.client import Client
from podium.kube.driver import Driver
from podium.kube.resources import Resource
from podium.kube.transport import Transport

log = logging.getLogger(__name__)

# Long enough for what is under way; a supervisor waits for half a minute before it kills.
_DRAIN_SECONDS = 5.0
_OBJECTS_AGAIN = 1.0
_ABSENT_AGAIN = 0.5


def advice(dialects: Sequence[Dialect]) -> dict[Resource, str]:
    """What to do about kinds that the server lacks."""
    reported = "`podium crds | kubectl apply -f -` installs it"
    return {definition.resource: reported for dialect in dialects for definition in dialect.definitions}


async def drive(driver: Driver, until: Awaitable[object], *beside: Awaitable[object]) -> None:
    """Runs a machine until something has happened, then lets it finish what it has begun.

    What runs `beside` it ends with it.  An exception in any of them ends all of it.
    """
    running = asyncio.create_task(driver.run())
    ending = asyncio.ensure_future(until)
    others = [asyncio.ensure_future(each) for each in beside]
    tasks = {running, ending, *others}
    try:
        watched = set(tasks)
        while not ending.done():
            done, watched = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises what ended it
        await driver.drain(_DRAIN_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def create_objects(transport: Transport, dialects: Sequence[Dialect]) -> bool:
    """Creates what families need to be there (Volcano: the default queue); whether all of it is there now."""
    client = Client(transport)
    complete = True
    for dialect in dialects:
        for resource, document in objects_of(dialect):
            name = document["metadata"]["name"]
            try:
                await client.create(resource, "", document)
                log.info("created %s %s", resource.kind, name)
            except ApiError as error:
                if error.reason == "AlreadyExists":
                    continue
                if error.code == 401:
                    raise
                complete = False
                if error.code != 404:  # a kind that the server lacks is reported by its watch
                    log.warning("%s %s could not be created: %s", resource.kind, name, error)
    return complete


async def create_objects_when_possible(transport: Transport, dialects: Sequence[Dialect], driver: Driver) -> None:
    """The same until it is done: the server may be away, and definitions may be installed later."""
    needed = {resource for dialect in dialects for resource, _ in objects_of(dialect)}
    while not await _try_to_create(transport, dialects):
        await asyncio.sleep(_OBJECTS_AGAIN)
        while any(each.absent and each.resource in needed for each in driver.reflectors):  # noqa: ASYNC110
            await asyncio.sleep(_ABSENT_AGAIN)  # the watches look for it


async def _try_to_create(transport: Transport, dialects: Sequence[Dialect]) -> bool:
    try:
        return await create_objects(transport, dialects)
    except PodiumError as error:
        log.warning("the families' objects could not be created: %s", error)
        return False
