"""The shell around a sans-IO machine: watches what it needs, carries out what it wants, keeps its time.

    API server --watch--> inbox --observe, forget--> machine --tickets--> queue --requests--> API server
                                                        ^----------------done----------------'

The driver decides nothing.  One task, the pump, feeds the machine and asks it what to do; a few workers carry the
changes out.  It is asked for more only while the queue is short, so that it decides on what is known then and not
on what was known a thousand requests ago.  Everything goes in small portions: whoever shares the event loop (in
the embedded server: the API) gets its turn in between.  Portions are of so many things, and of fewer where each of
them takes long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from podium.kube.changes import CreateKeyPair, read_answer, request_of, with_keys
from podium.kube.clock import SteadyClock
from podium.kube.controller import Ticket
from podium.kube.deltas import Deleted, Delta, Undecodable
from podium.kube.keys import new_key_pair
from podium.kube.list_watch import Reader
from podium.kube.machine import Machine
from podium.kube.reflector import Reflector
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from podium.kube.transport import Transport
from podium.kube.watching import watch
from podium.kube.wire import CustomResourceDefinition, Object, struct_of

log = logging.getLogger(__name__)

# Events taken in, and keys looked at, before others get their turn.
_EVENTS_PER_TURN = 100
_KEYS_PER_TURN = 20
# How long a portion should take at the most.
_PORTION_SECONDS = 0.02


class _Watch(msgspec.Struct):
    """One resource that is watched, and how to end its pauses."""

    reflector: Reflector[Object]
    wake: asyncio.Event
    task: asyncio.Task[None]


class Driver:
    """Runs one machine against one API server, until cancelled."""

    def __init__(
        self,
        transport: Transport,
        machine: Machine,
        *,
        concurrency: int = 16,
        custom_resources: bool = False,
        views: Mapping[Resource, type[Object]] | None = None,
        advice: Mapping[Resource, str] | None = None,
    ) -> None:
        """`custom_resources` follows the definitions of custom resources: the machine gets each that is
        served, and one that it waits for is looked at as soon as it appears.

        `views` are the structs of resources beyond the built-in ones, for machines that read more of them than
        their metadata; `advice` is the hint for people about a resource that the server does not have.
        """
        self._views = dict(views or {})
        self._advice = dict(advice or {})
        self._transport = transport
        self._machine = machine
        self._concurrency = concurrency
        self._custom_resources = custom_resources
        self._clock = SteadyClock()
        self._inbox: deque[Callable[[], None]] = deque()
        self._queue: asyncio.Queue[Ticket] = asyncio.Queue()
        self._in_flight = 0
        self._wake = asyncio.Event()
        self._answered = asyncio.Event()
        self._watches: dict[Resource, _Watch] = {}
        self._listed: set[Resource] = set()
        self._defined: dict[str, Resource] = {}  # by the definition's name
        self._readers: dict[Resource, Reader[Object]] = {}
        self._needs_moved = True
        self._ending = False
        self._keys = _KEYS_PER_TURN
        self._turns = 0  # how often anything was done: for `idle`

    def _view(self, resource: Resource) -> type[Object]:
        return self._views.get(resource) or struct_of(resource)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._work())
            await self._pump(group)

    @property
    def synced(self) -> bool:
        """Whether everything that the machine needs has been listed."""
        return self._listed >= self._machine.resources

    @property
    def waiting(self) -> int:
        """Changes that are handed out and not answered."""
        return self._queue.qsize() + self._in_flight

    @property
    def reflectors(self) -> list[Reflector[Object]]:
        """How the watches fare: for metrics."""
        return [watched.reflector for watched in self._watches.values()]

    def wake(self) -> None:
        """The machine got something by another way: it may have something to do."""
        self._wake.set()

    async def drain(self, patience: float) -> None:
        """Asks the machine for nothing more, and waits for what it has asked for, at most `patience` seconds."""
        self._ending = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while self.waiting:
                    self._answered.clear()
                    await self._answered.wait()

    async def idle(self, quiet: float = 0.05, within: float = 0.0) -> None:
        """Until there has been nothing to do for `quiet` seconds and nothing is due `within` some.  For tests."""
        seen = -1
        while seen != self._turns or not self._rests(within):
            seen = self._turns
            await asyncio.sleep(quiet)

    def _rests(self, within: float) -> bool:
        now = self._clock()
        wake = self._machine.next_wake(now)
        busy = self._inbox or self.waiting
        return not busy and self.synced and (wake is None or wake > now + within)

    # --- the machine's side --------------------------------------------------------------------------------

    async def _pump(self, group: asyncio.TaskGroup) -> None:
        while True:
            self._wake.clear()
            end = time.perf_counter() + _PORTION_SECONDS
            for _ in range(min(len(self._inbox), _EVENTS_PER_TURN)):
                self._inbox.popleft()()
                self._turns += 1
                if time.perf_counter() > end:
                    break
            if self._needs_moved:
                self._needs_moved = False
                self._watch_needed(group)
            if self._queue.qsize() < self._concurrency and not self._ending:
                for ticket in self._asked():
                    self._queue.put_nowait(ticket)
                    self._turns += 1
            await self._rest()

    def _asked(self) -> list[Ticket]:
        """What the machine wants done now.  If that took long to find out, it looks at fewer things next time."""
        begun = time.perf_counter()
        tickets = self._machine.run(self._clock(), self._keys)
        took = time.perf_counter() - begun
        if took > _PORTION_SECONDS:
            self._keys = max(1, int(self._keys * _PORTION_SECONDS / took))
        else:
            self._keys = min(_KEYS_PER_TURN, 2 * self._keys)
        return tickets

    async def _rest(self) -> None:
        """Until there is something to do; at least for one turn of the event loop."""
        if self._inbox:
            await asyncio.sleep(0)
            return
        full = self._queue.qsize() >= self._concurrency or self._ending
        now = self._clock()
        wake = None if full else self._machine.next_wake(now)
        if wake is not None and wake <= now:
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(None if wake is None else wake - now):
                await self._wake.wait()
        except TimeoutError:
            return

    def _watch_needed(self, group: asyncio.TaskGroup) -> None:
        """Watches what the machine needs and nothing else; its needs move with the custom resources."""
        needed = set(self._machine.resources)
        if self._custom_resources:
            needed.add(CUSTOMRESOURCEDEFINITIONS)
        for resource in needed - self._watches.keys():
            reflector = Reflector(resource, self._view(resource))
            wake = asyncio.Event()
            watching = watch(
                self._transport,
                reflector,
                partial(self._observed, resource),
                wake=wake,
                advice=self._advice.get(resource, ""),
            )
            self._watches[resource] = _Watch(reflector, wake, group.create_task(watching))
        for resource in self._watches.keys() - needed:
            self._watches.pop(resource).task.cancel()
            self._listed.discard(resource)

    def _observed(self, resource: Resource, deltas: list[Delta[Object]]) -> None:
        """Events of a watch.  The first time it is the whole state, even if there is nothing."""
        for delta in deltas:
            self._inbox.append(partial(self._take_in, resource, delta))
        if resource not in self._listed:
            self._listed.add(resource)
            self._inbox.append(partial(self._machine.synced, resource))
        self._wake.set()

    def _take_in(self, resource: Resource, delta: Delta[Object]) -> None:
        if resource not in self._watches:
            return  # withdrawn while this was in the inbox
        if isinstance(delta, Undecodable):
            log.warning("%s %s/%s cannot be read: %s", resource.group_resource, *delta.key, delta.error)
            return
        if resource == CUSTOMRESOURCEDEFINITIONS and self._custom_resources:
            self._redefine(delta)
            if resource not in self._machine.resources:
                return
        if not isinstance(delta, Deleted):
            self._machine.observe(resource, delta.obj)
        elif delta.obj is not None:
            self._machine.forget(resource, delta.obj)

    def _redefine(self, delta: Delta[Object]) -> None:
        """A definition came, changed or went: so did the resource that it defines."""
        definition = delta.obj if not isinstance(delta, Undecodable) else None
        if not isinstance(definition, CustomResourceDefinition):
            return
        served = None if isinstance(delta, Deleted) else definition.served
        known = self._defined.get(definition.name)
        if served == known:
            return
        self._needs_moved = True
        if known is not None:
            del self._defined[definition.name]
            self._machine.withdraw(known)
        if served is not None:
            self._defined[definition.name] = served
            self._machine.serve(served)
            watched = self._watches.get(served)
            if watched is not None:
                watched.reflector.poke()
                watched.wake.set()

    # --- the server's side ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            ticket = await self._queue.get()
            self._in_flight += 1
            result: Object | None = None
            failure: Exception | None = None
            try:
                result = await self._carry_out(ticket)
            except Exception as error:
                failure = error
            self._in_flight -= 1
            self._answered.set()
            self._turns += 1
            self._machine.done(ticket, result, failure, self._clock())
            self._wake.set()
            # A request within the process may be answered without a pause; others want to go on, too.
            await asyncio.sleep(0)

    async def _carry_out(self, ticket: Ticket) -> Object | None:
        """The object as the server answered it; None if there is none, or it is gone."""
        change = ticket.change
        if isinstance(change, CreateKeyPair):
            change = with_keys(change, await asyncio.to_thread(new_key_pair))  # it takes a tenth of a second
        return read_answer(change, await self._transport.request(request_of(change)), self._read)

    def _read(self, resource: Resource, body: bytes) -> Object | None:
        reader = self._readers.get(resource)
        if reader is None:
            reader = self._readers[resource] = Reader(self._view(resource))
        try:
            answered = reader.one(body)
        except msgspec.DecodeError:
            return None  # a Status, or an object that does not fit: the watch will show it
        return answered if answered.metadata.name else None
