"""A process in virtual time: one machine, the reflectors that feed it, and its requests under way.

It is what `kube.driver` and `kube.watching` are with asyncio, on a heap of events: lists and watches go through
the real reflectors, requests leave in order and no more of them at once than the real driver sends, answers take
their time.  A process that is killed is never heard of again; what it had sent may arrive all the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from podium.embedded.exchange import Feed
from podium.embedded.in_process import BOOKMARK_SECONDS
from podium.errors import ApiError, TransportError
from podium.kube.clock import SteadyClock
from podium.kube.controller import Ticket
from podium.kube.deltas import Deleted, Delta, Undecodable
from podium.kube.machine import Machine
from podium.kube.reflector import Ask, Follow, Pause, Reflector
from podium.kube.resources import Resource
from podium.kube.status import error_from_body
from podium.kube.transport import Response, cut_lines
from podium.kube.wire import Object
from podium.sim.histories.wire import Call, Stream, Wire
from podium.sim.rng import Rng
from podium.sim.server import Server

CONCURRENCY = 16
_BUDGET = 20  # small things done by the machine before others have their turn
_COMPUTING = 0.0005  # seconds between two portions of them
_SHORTEST = 0.001  # the least that a timer waits
_PAGE = 8  # small, so that lists have several
_LATENCY = (0.0005, 0.004)  # of a message, one way


class Host(Protocol):
    """The machine that a process runs on: its clocks may be wrong."""

    def wall(self) -> float: ...

    def steady(self) -> float: ...

    def real(self, seconds: float) -> float:
        """How long it takes for so many of its seconds to pass."""
        ...


class Surroundings(Protocol):
    """What a process needs of the stage."""

    server: Server
    wire: Wire

    @property
    def elapsed(self) -> float: ...

    def after(self, seconds: float, event: Callable[[], None]) -> None: ...

    def sent(self, call: Call) -> None: ...

    def answered(self, call: Call, error: Exception | None) -> None: ...


class Process:
    """One process.  `busy`: whether its machine has seen anything since somebody last looked."""

    def __init__(
        self,
        stage: Surroundings,
        name: str,
        machine: Machine,
        host: Host,
        rng: Rng,
        *,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name = name
        self.machine = machine
        self.alive = True
        self.frozen = False
        self.busy = False
        self.calls = 0
        self.idle_turns = 0  # how often in a row the machine wanted to go on, without anything having happened
        self.stage = stage
        self.host = host
        self.clock = SteadyClock(host.wall, host.steady)
        self._rng = rng
        self._may_write = may_write
        self._queue: deque[Ticket] = deque()
        self._in_flight = 0
        self._awake = False
        self._timer = float("inf")  # by the stage's time
        self.watches: dict[Resource, Watch] = {}

    def start(self) -> None:
        """Begins to list everything that the machine needs."""
        for resource in sorted(self.machine.resources, key=lambda each: (each.group, each.plural)):
            self.watches[resource] = Watch(self, resource)
            self.after(self.latency(), self.watches[resource].advance)

    def kill(self) -> None:
        self.alive = False
        for watch in self.watches.values():
            watch.drop()

    def latency(self) -> float:
        return self._rng.between(*_LATENCY)

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        """Something of this process's happens later, unless it is killed before; a frozen one does it when it
        goes on."""

        def happen() -> None:
            if self.alive and self.frozen:
                self.stage.after(0.25, happen)
            elif self.alive:
                event()

        self.stage.after(seconds, happen)

    # --- the machine ---------------------------------------------------------------------------

    @property
    def synced(self) -> bool:
        return all(watch.reflector.synced for watch in self.watches.values())

    def observed(self, resource: Resource, deltas: list[Delta[Object]], *, first: bool) -> None:
        for delta in deltas:
            if isinstance(delta, Undecodable):
                continue
            if not isinstance(delta, Deleted):
                self.machine.observe(resource, delta.obj)
            elif delta.obj is not None:
                self.machine.forget(resource, delta.obj)
        if first:
            self.machine.synced(resource)
        self._news()

    def _news(self) -> None:
        self.idle_turns = 0
        self.wake()

    def wake(self, seconds: float = 0.0) -> None:
        self.busy = True
        if not self._awake:
            self._awake = True
            self.after(seconds, self._pump)

    def _pump(self) -> None:
        self._awake = False
        if len(self._queue) < CONCURRENCY:
            self._queue.extend(self.machine.run(self.clock(), _BUDGET))
            self.busy = True
        while self._queue and self._in_flight < CONCURRENCY:
            self._send(self._queue.popleft())
        if len(self._queue) >= CONCURRENCY:
            return  # the next answer goes on from here
        now = self.clock()
        wake = self.machine.next_wake(now)
        if wake is not None and wake <= now:
            self.idle_turns = 0 if self._queue or self._in_flight else self.idle_turns + 1
            self.wake(_COMPUTING)
        elif wake is not None:
            seconds = self.host.real(max(_SHORTEST, wake - now))
            due = self.stage.elapsed + seconds
            if due != self._timer:
                self._timer = due
                self.after(seconds, partial(self._ring, due))

    def _ring(self, due: float) -> None:
        if due == self._timer:  # else it has been set anew
            self._timer = float("inf")
            self._news()

    # --- requests ---------------------------------------------------------------------------

    def _send(self, ticket: Ticket) -> None:
        self._in_flight += 1
        self.calls += 1
        call = Call(self.name, self.calls, ticket, self.stage.elapsed)
        if not self._may_write():
            fenced = TransportError("the lease may have ended: nothing is written")
            self.after(self.latency(), partial(self._answer, call, None, fenced))
            return
        self.stage.sent(call)
        self.stage.after(self.latency() + self.stage.wire.delay(call), partial(self._arrive, call))

    def _arrive(self, call: Call) -> None:
        """At the server, whatever has become of the sender."""
        wire, result = self.stage.wire, None
        error = wire.before(call)
        if error is None:
            try:
                result = self.stage.server.carry_out(call.ticket.change)
            except ApiError as refused:
                error = refused
            lost = wire.after(call)
            if lost is not None:
                result, error = None, lost
        self.after(self.latency() + wire.delay_back(call), partial(self._answer, call, result, error))

    def _answer(self, call: Call, result: Object | None, error: Exception | None) -> None:
        self._in_flight -= 1
        self.stage.answered(call, error)
        self.machine.done(call.ticket, result, error, self.clock())
        self._news()


class Watch:
    """One resource of a process, kept by its reflector."""

    def __init__(self, process: Process, resource: Resource) -> None:
        view = process.stage.server.view(resource)
        self.reflector: Reflector[Object] = Reflector(resource, view, page_size=_PAGE)
        self.lists: list[float] = []  # when lists were begun, in seconds from the beginning
        self.stalls: list[float] = []  # when a connection was found dead
        self._process = process
        self._resource = resource
        self._feed: Feed | None = None
        self._rest = b""
        self._taking = False
        self._heard = 0.0  # when the last line came
        self._due = 0.0  # when the last line that is under way will come
        self._under_way: deque[tuple[Feed, bytes]] = deque()

    @property
    def stream(self) -> Stream:
        return Stream(self._process.name, self._resource, self.reflector.counters.watches)

    @property
    def idle(self) -> bool:
        """Whether everything that was written has been seen."""
        return self._feed is not None and not self._taking and self._due <= self._process.stage.elapsed

    def advance(self) -> None:
        """Whatever the reflector wants next."""
        process = self._process
        now = process.host.steady()
        step = self.reflector.next(now)
        if isinstance(step, Pause):
            process.after(process.host.real(step.until - now), self.advance)
        elif isinstance(step, Ask):
            process.after(process.latency(), partial(self._ask, step))
        else:
            process.after(process.latency(), partial(self._open, step))

    def drop(self) -> None:
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    def cut(self, error: Exception | None = None) -> None:
        """The connection ends, if there is one."""
        if self._feed is not None:
            self.drop()
            self.reflector.closed(error, self._process.host.steady())
            self.advance()

    def interrupt(self, line: bytes) -> None:
        """A line that the server did not send."""
        if self._feed is not None:
            self._hear(self._feed, line)

    def _ask(self, step: Ask) -> None:
        process, reflector = self._process, self.reflector
        first = not reflector.synced
        # A list without pages is the second half of one whose next page was refused: the same list.
        if step.request.param("limit") and not step.request.param("continue"):
            self.lists.append(process.stage.elapsed)
        reply = process.stage.wire.answer(process.name, self._resource, step.request)
        if reply is None:
            whole = process.stage.server.handle(step.request)
            assert isinstance(whole, Response)
            reply = whole
        now = process.host.steady()
        if isinstance(reply, Exception):
            reflector.closed(reply, now)
        else:
            deltas = reflector.page(reply.status, reply.body, now)
            if deltas or (first and reflector.synced):
                process.observed(self._resource, deltas, first=first and reflector.synced)
        self.advance()

    def _open(self, step: Follow) -> None:
        process, reflector = self._process, self.reflector
        instead = process.stage.wire.answer(process.name, self._resource, step.request)
        reply = instead if instead is not None else process.stage.server.handle(step.request)
        now = process.host.steady()
        if isinstance(reply, Response | Exception):
            error = error_from_body(reply.status, reply.body) if isinstance(reply, Response) else reply
            reflector.closed(error, now)
            self.advance()
            return
        self._feed, self._rest = reply, b""
        self._heard = self._due = process.stage.elapsed
        reflector.opened(now)
        real = process.host.real
        process.after(reply.timeout, partial(self._end, reply))
        process.after(BOOKMARK_SECONDS, partial(self._mark, reply))
        process.after(real(step.stall), partial(self._watchdog, reply, step.stall))
        self._taking = False
        reply.on_ready(partial(self._ready, reply))

    def _ready(self, feed: Feed) -> None:
        if feed is self._feed and not self._taking:
            self._taking = True
            self._process.after(self._process.latency(), partial(self._take, feed))

    def _take(self, feed: Feed) -> None:
        if feed is not self._feed:
            return
        wire = self._process.stage.wire
        if wire.silent(self.stream):
            self._process.after(1.0, partial(self._take, feed))
            return
        self._taking = False
        lines, self._rest = cut_lines(self._rest + b"".join(iter(feed.take, b"")))
        for delay, line in wire.lines(self.stream, lines):
            now = self._process.stage.elapsed
            self._due = max(self._due, now + delay)
            if self._due <= now:
                self._hear(feed, line)
            else:
                self._under_way.append((feed, line))
                self._process.after(self._due - now, self._hear_next)
        if feed.finished and feed is self._feed:
            self._end(feed)

    def _hear_next(self) -> None:
        """The first of the lines under way.  Times are sums, and two that are equal may come out in any order."""
        self._hear(*self._under_way.popleft())

    def _hear(self, feed: Feed, line: bytes) -> None:
        if feed is not self._feed:
            return
        self._heard = self._process.stage.elapsed
        deltas = self.reflector.line(line, self._process.host.steady())
        if deltas:
            self._process.observed(self._resource, deltas, first=False)
        if not self.reflector.following:
            self.drop()
            self.advance()

    def _mark(self, feed: Feed) -> None:
        """A bookmark after a while of silence, as servers send them."""
        if feed is not self._feed:
            return
        process = self._process
        quiet = process.stage.elapsed - self._heard >= BOOKMARK_SECONDS
        # It never overtakes lines that are still under way: who has it, has them.
        if quiet and self.idle and not process.stage.wire.silent(self.stream):
            for line in cut_lines(feed.bookmark())[0]:
                self._hear(feed, line)
        process.after(BOOKMARK_SECONDS, partial(self._mark, feed))

    def _end(self, feed: Feed) -> None:
        """The server has had enough of this watch."""
        if feed is self._feed and not self._process.stage.wire.silent(self.stream):
            self.drop()
            self.reflector.closed(None, self._process.host.steady())
            self.advance()

    def _watchdog(self, feed: Feed, stall: float) -> None:
        if feed is not self._feed:
            return
        process = self._process
        silent = process.stage.elapsed - self._heard
        patience = process.host.real(stall)
        if silent >= patience:
            self.drop()
            self.stalls.append(process.stage.elapsed)
            self.reflector.stalled(process.host.steady())
            self.advance()
        else:
            process.after(max(_SHORTEST, patience - silent), partial(self._watchdog, feed, stall))
