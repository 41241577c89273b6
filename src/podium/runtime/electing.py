"""Leader election on an API server: the driver of `kube.lease`, and what a process does with its result.

A process that loses its lease stops its work at once, throws away everything that it knew, and stands by again.
Volcano's scheduler ends in that case, and needs somebody to start it again.  But what loses a lease most often is
an API server that is away for ten seconds, and then there is nobody else to take over: a scheduler that was
started by hand should be there when the server is.  The work begins anew from a fresh list, as in a new process.

Who stands by reads the lease every few seconds, as client-go does, and watches it besides: a lease that is given
back is taken at once, and not at the next look.  The watch is a shortcut and nothing more: where it cannot be
had, the looks are enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn

import msgspec

from podium.errors import ApiError, LeadershipLostError, PodiumError, TransportError
from podium.kube.changes import Change, request_of
from podium.kube.deltas import Undecodable
from podium.kube.lease import Ask, Election, Pause, Terms, Write
from podium.kube.list_watch import Changed, Reader
from podium.kube.resources import LEASES
from podium.kube.status import error_from_body
from podium.kube.transport import Request, Transport
from podium.kube.wire import Lease
from podium.runtime.aside import Aside, Pulse
from podium.runtime.identity import is_dead, process_identity

log = logging.getLogger(__name__)

_RELEASE_SECONDS = 3.0
_WATCH_SECONDS = 600


class Leadership:
    """One process's part in an election."""

    def __init__(
        self,
        transport: Transport,
        namespace: str,
        name: str,
        terms: Terms,
        *,
        identity: str = "",
        pulse: Pulse | None = None,
    ) -> None:
        """With a `pulse` the lease is renewed only while the loop that does the work turns."""
        self._identity = identity or process_identity()
        self._lease = (namespace, name)
        self._terms = terms
        self.begin_anew()
        self._transport = transport
        self._logged = ""
        self._pulse = pulse
        self._reader = Reader(Lease)
        self._freed = asyncio.Event()  # somebody has given the lease back

    def begin_anew(self) -> None:
        """A candidate like any other, whatever was before."""
        seed = zlib.crc32(self._identity.encode())
        self.election = Election(*self._lease, self._identity, self._terms, seed)

    def may_write(self) -> bool:
        """Whether nobody else can be leading at this moment."""
        return self.election.may_write(time.monotonic())

    async def campaign(self) -> None:
        """Until this process leads."""
        election = self.election
        watching: asyncio.Task[None] | None = None
        try:
            while not election.leading:
                await self._step()
                if election.holder not in ("", election.identity):
                    hint = f"; {election.hint}" if election.hint else ""
                    self._log(logging.INFO, f"standing by: {election.holder} holds the lease {self._name}{hint}")
                    watching = watching or asyncio.create_task(self._watch())
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.wait({watching})
        log.info("leading: this process, %s, holds the lease %s", election.identity, self._name)

    async def keep(self) -> NoReturn:
        """Renews until that fails for good: LeadershipLostError says why."""
        while self.election.leading:
            stuck = self._pulse.stuck() if self._pulse is not None else ""
            if stuck:
                raise LeadershipLostError(f"the lease {self._name} is not renewed: {stuck}")
            await self._step()
        raise LeadershipLostError(f"the lease {self._name} is lost: {self.election.lost}")

    async def release(self) -> None:
        """Gives the lease back if this process holds it.  Whatever comes between, its end does the same later."""
        if not self.election.leading:
            return
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                change = self.election.release(await self._read(_RELEASE_SECONDS), time.time())
                if change is not None:
                    await self._write(change, _RELEASE_SECONDS)
        except (PodiumError, TimeoutError) as error:
            log.warning("the lease %s could not be given back: %s", self._name, error)

    async def _step(self) -> None:
        election = self.election
        step = election.next(time.monotonic(), time.time())
        if isinstance(step, Pause):
            await self._pause(max(0.0, step.until - time.monotonic()))
            return
        try:
            async with asyncio.timeout(step.timeout):
                if isinstance(step, Ask):
                    lease = await self._read(step.timeout)
                    election.seen(lease, time.monotonic(), orphaned=is_dead(_holder(lease)))
                elif isinstance(step, Write):
                    election.written(await self._write(step.change, step.timeout), time.monotonic())
        except TimeoutError:
            election.failed(TransportError("no answer in time"), time.monotonic())
        except PodiumError as error:
            if not (isinstance(error, ApiError) and error.code == 409):
                self._log(logging.WARNING, f"the lease {self._name}: {_explained(error, election.namespace)}")
            election.failed(error, time.monotonic())

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._freed.wait()
        except TimeoutError:
            return
        self._freed.clear()
        self.election.poke()

    async def _watch(self) -> None:
        """Notices that the lease is given back.  Whatever fails here, the next look finds it as well."""
        query = (
            ("watch", "true"),
            ("fieldSelector", f"metadata.name={self.election.name}"),
            ("timeoutSeconds", str(_WATCH_SECONDS)),
        )
        request = Request("GET", LEASES.path(self.election.namespace), query)
        while True:
            pause = self._terms.duration
            with contextlib.suppress(PodiumError, msgspec.DecodeError):
                async with self._transport.stream(request) as stream:
                    if stream.status == 200:
                        async for line in stream.lines():
                            event = self._reader.event(line)
                            if isinstance(event, Changed) and not _holder(event.entry):
                                self._freed.set()
                        pause = self._terms.retry  # it ended as it should
            await asyncio.sleep(pause)

    async def _read(self, timeout: float) -> Lease | None:
        path = LEASES.path(self.election.namespace, self.election.name)
        response = await self._transport.request(Request("GET", path), timeout=timeout)
        if response.status == 404:
            return None
        return _decode(response.status, response.body)

    async def _write(self, change: Change, timeout: float) -> Lease:
        response = await self._transport.request(request_of(change), timeout=timeout)
        return _decode(response.status, response.body)

    def _log(self, level: int, reported: str) -> None:
        """The same thing again and again is said once."""
        if reported != self._logged:
            self._logged = reported
            log.log(level, "%s", reported)

    @property
    def _name(self) -> str:
        return f"{self.election.namespace}/{self.election.name}"


async def lead(
    leadership: Leadership | None,
    work: Callable[[], Awaitable[None]],
    stop: asyncio.Event,
    aside: Aside | None = None,
) -> None:
    """Stands by until the lease is held, works while it is, and gives it back at the end.

    The lease is looked after `aside`, if that is given: where the work cannot delay it.

    `work` ends by itself when `stop` is set.  It is cut off at once when the lease is lost, and begun anew when it
    is held again.
    """
    if leadership is None:
        await work()
        return
    looked_after = aside.run if aside is not None else _here
    while await _unless(stop, looked_after(leadership.campaign())):
        try:
            await _lead_on(leadership, work, looked_after)
            return
        except LeadershipLostError as lost:
            log.warning("%s: nothing is written any more, and everything begins anew", lost)
            leadership.begin_anew()


async def _here(work: Coroutine[Any, Any, None]) -> None:
    await work


async def _lead_on(
    leadership: Leadership,
    work: Callable[[], Awaitable[None]],
    looked_after: Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]],
) -> None:
    """Works until the work is done; LeadershipLostError if the lease is lost before."""
    working = asyncio.ensure_future(work())
    keeping = asyncio.create_task(looked_after(leadership.keep()))
    try:
        await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if keeping.done():
            keeping.result()
        working.result()
    finally:
        for task in (working, keeping):
            task.cancel()
        await asyncio.wait({working, keeping})
        await looked_after(leadership.release())


async def _unless(stop: asyncio.Event, work: Awaitable[None]) -> bool:
    """Does something unless `stop` is set first; whether it was done."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return working.done()
    finally:
        for task in (working, stopping):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _holder(lease: Lease | Undecodable | None) -> str:
    return (lease.spec.holder_identity or "") if isinstance(lease, Lease) else ""


def _decode(status: int, body: bytes) -> Lease:
    if not 200 <= status < 300:
        raise error_from_body(status, body)
    try:
        return msgspec.json.decode(body, type=Lease)
    except msgspec.DecodeError as error:
        raise TransportError(f"the answer is no Lease: {error}") from None


def _explained(error: PodiumError, namespace: str) -> str:
    if isinstance(error, ApiError) and error.code == 404:
        return (
            f"namespace {namespace} does not exist: create it, or choose another with "
            "--leader-elect-resource-namespace"
        )
    return str(error)
