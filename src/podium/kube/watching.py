"""The driver of reflectors: carries out what they ask for, over any transport.  It decides nothing itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from podium.errors import PodiumError
from podium.kube.deltas import Delta
from podium.kube.reflector import Ask, Follow, Pause, Reflector
from podium.kube.status import error_from_body
from podium.kube.transport import Request, Response, Transport
from podium.kube.wire import Object

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)

# Called with the deltas of one list, or of lines that came together.  The first call is the initial state, even if
# it is empty.
Sink = Callable[[list[Delta[T]]], None]
Clock = Callable[[], float]

LIST_SECONDS = 120.0


async def watch(
    transport: Transport,
    reflector: Reflector[T],
    sink: Sink[T],
    clock: Clock | None = None,
    wake: asyncio.Event | None = None,
    advice: str = "",
) -> None:
    """Runs a reflector until cancelled.  Setting `wake` ends a pause, after the reflector was poked.

    `advice` is what to do about a kind that the server does not have.
    """
    clock = clock or asyncio.get_running_loop().time
    wake = wake or asyncio.Event()
    reported = ""
    pages = _Pages(transport)
    while True:
        step = reflector.next(clock())
        if isinstance(step, Ask):
            await _ask(pages, reflector, sink, clock, step)
        elif isinstance(step, Follow):
            await _follow(transport, reflector, sink, clock, step)
        else:
            await _pause(step, clock, wake)
        if reflector.trouble != reported:
            reported = reflector.trouble
            if reported:
                # A kind that nobody can do anything about is no reason to warn: not every server has all of them.
                level = logging.INFO if reflector.absent and not advice else logging.WARNING
                hint = f"; {advice}" if reflector.absent and advice else ""
                log.log(level, "%s: %s%s", reflector.resource.group_resource, reported, hint)
            else:
                log.info("%s: watched again", reflector.resource.group_resource)


class _Pages:
    """Fetches the pages of a list, each while the one before it is being read: server and reader both work."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._ahead: tuple[Request, asyncio.Task[Response]] | None = None

    async def get(self, request: Request) -> Response:
        if self._ahead is None or self._ahead[0] != request:
            self.drop()
            return await self._fetch(request)
        (_, task), self._ahead = self._ahead, None
        return await task

    async def get_ahead(self, request: Request) -> None:
        """Sends a request whose answer will be asked for, or not."""
        task = asyncio.create_task(self._fetch(request))
        task.add_done_callback(_look_at)
        self._ahead = (request, task)
        await asyncio.sleep(0)  # lets it leave before the reader takes the processor

    def drop(self) -> None:
        if self._ahead is not None:
            self._ahead[1].cancel()
            self._ahead = None

    async def _fetch(self, request: Request) -> Response:
        return await self._transport.request(request, timeout=LIST_SECONDS)


def _look_at(task: asyncio.Task[Response]) -> None:
    """Failures of answers that nobody asked for are no news."""
    if not task.cancelled():
        task.exception()


async def _ask(pages: _Pages, reflector: Reflector[T], sink: Sink[T], clock: Clock, step: Ask) -> None:
    first = not reflector.synced
    try:
        response = await pages.get(step.request)
        following = reflector.next_page(response.body) if response.status == 200 else None
        if following is not None:
            await pages.get_ahead(following)
    except PodiumError as error:
        reflector.closed(error, clock())
        return
    except asyncio.CancelledError:
        pages.drop()
        raise
    deltas = reflector.page(response.status, response.body, clock())
    if deltas or (first and reflector.synced):
        sink(deltas)


async def _follow(
    transport: Transport, reflector: Reflector[T], sink: Sink[T], clock: Clock, step: Follow
) -> None:
    loop = asyncio.get_running_loop()
    watchdog = asyncio.timeout(step.stall)
    try:
        async with watchdog, transport.stream(step.request) as stream:
            if stream.status != 200:
                body = b"".join([line async for line in stream.lines()])
                reflector.closed(error_from_body(stream.status, body), clock())
                return
            reflector.opened(clock())
            fed_at = loop.time()
            async for batch in stream.batches():
                # Moving a timer each time would cost more in a burst than reading what came.
                if loop.time() - fed_at > 1.0:
                    fed_at = loop.time()
                    watchdog.reschedule(fed_at + step.stall)
                now = clock()
                deltas = [delta for line in batch for delta in reflector.line(line, now)]
                if deltas:
                    sink(deltas)
                if not reflector.following:
                    return
        reflector.closed(None, clock())
    except TimeoutError:
        if not watchdog.expired():
            raise
        reflector.stalled(clock())
    except PodiumError as error:
        reflector.closed(error, clock())


async def _pause(step: Pause, clock: Clock, wake: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(max(0.0, step.until - clock())):
            await wake.wait()
    except TimeoutError:
        return
    wake.clear()
